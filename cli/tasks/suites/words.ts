// Words after `npm test --` and `npm run ...` that select parts of a task.

/**
 * Refuses words that select nothing. Otherwise a run with a misspelt word would pass without running tests.
 *
 * @param what the name of the command, for example `npm test -- hostile`.
 * @param words the words of the command; those that begin with `--` are options and are ignored.
 * @param picks whether a word selects at least one of the choices.
 * @param choices the possible words, for the message.
 * @returns the message with a line feed at its end; null if each word selects something.
 * @example
 * refusalOf('npm test -- uws', ['contarct'], (word) => parts.includes(word), parts);
 * // 'npm test -- uws: nothing is called contarct; there are contract, workers\n'
 */
export function refusalOf(
  what: string,
  words: readonly string[],
  picks: (word: string) => boolean,
  choices: readonly string[],
): string | null {
  const unknown = words.filter((word) => !word.startsWith('--') && !picks(word));
  if (unknown.length === 0) return null;
  return `${what}: nothing is called ${unknown.join(' or ')}; there are ${choices.join(', ')}\n`;
}

/** Like {@link refusalOf}, but writes the message to stderr. @returns whether words were refused. */
export function refuses(...given: Parameters<typeof refusalOf>): boolean {
  const message = refusalOf(...given);
  if (message !== null) process.stderr.write(message);
  return message !== null;
}

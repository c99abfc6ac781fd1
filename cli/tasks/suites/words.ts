// Words behind `npm test --` and `npm run ...` that pick parts of something.

/**
 * Refuses words that pick nothing. A run with such a word would pass without the tests that it names.
 *
 * @param what name of the command, for example `npm test -- hostile`.
 * @param words words that were given; those with `--` are options and are not looked at.
 * @param picks whether a word picks at least one of the choices.
 * @param choices what there is, for the message.
 * @returns the message with a line feed at its end; null where each word picks something.
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

/** Like {@link refusalOf}, and writes the message to stderr; true: refused. */
export function refuses(...given: Parameters<typeof refusalOf>): boolean {
  const message = refusalOf(...given);
  if (message !== null) process.stderr.write(message);
  return message !== null;
}

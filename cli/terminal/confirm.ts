// Commands that destroy something ask first: on a terminal by a question, elsewhere they want --yes.
import { CliError } from './failure.ts';
import type { Shell } from './shell.ts';

/** The flag that says yes ahead. */
export const yesFlag = { yes: { type: 'boolean', alias: 'y', description: 'Do not ask' } } as const;

/**
 * Returns when the user agrees.
 *
 * @param what becomes of it, one sentence: 'Project shop and all that it holds will be deleted.'
 * @param typed what has to be typed; without it a `y` does.
 * @throws {CliError} when the user does not agree, with exit code 2 where nobody can be asked.
 */
export async function confirm(shell: Shell, yes: boolean | undefined, what: string, typed?: string): Promise<void> {
  if (yes === true) return;
  const question = typed === undefined ? `${what} Go on? [y/N] ` : `${what} Type ${typed} to go on: `;
  const answer = await shell.ask(question);
  if (answer === null)
    throw new CliError(what, { exitCode: 2, advice: 'Nobody can be asked here: pass --yes to do it.' });
  const agreed = typed === undefined ? /^y(?:es)?$/i.test(answer.trim()) : answer.trim() === typed;
  if (!agreed) throw new CliError('Nothing was done');
}

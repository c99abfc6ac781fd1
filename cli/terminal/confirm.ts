// Confirmation of destructive commands: a prompt on a terminal, else --yes is required.
import { CliError } from './failure.ts';
import type { Shell } from './shell.ts';

/** Skips the confirmation. */
export const yesFlag = { yes: { type: 'boolean', alias: 'y', description: 'Skip the confirmation' } } as const;

/**
 * Resolves when the user confirms.
 *
 * @param what the consequence, one sentence: 'The project shop and its data will be deleted.' @param typed the text
 * that the user has to type; by default `y`.
 * @throws {CliError} if the user declines; with exit code 2 without a terminal.
 */
export async function confirm(shell: Shell, yes: boolean | undefined, what: string, typed?: string): Promise<void> {
  if (yes === true) return;
  const question = typed === undefined ? `${what} Continue? [y/N] ` : `${what} Type ${typed} to continue: `;
  const answer = await shell.ask(question);
  if (answer === null)
    throw new CliError(what, { exitCode: 2, advice: 'Standard input is not a terminal: pass --yes to confirm.' });
  const agreed = typed === undefined ? /^y(?:es)?$/i.test(answer.trim()) : answer.trim() === typed;
  if (!agreed) throw new CliError('Canceled');
}

// The failure of backup, restore and upgrade, with how to fix it. Thrown throughout this folder, shown by the commands
// and in the log.
import { Failure } from '#core/failure.ts';

/**
 * A backup, restore or upgrade that was refused or failed.
 *
 * @param advice how to fix it, in one sentence.
 */
export function backupError(
  reason: Failure<'backup'>['reason'],
  message: string,
  advice: string,
  options: ErrorOptions = {},
): Failure<'backup'> {
  return new Failure('backup', message, { reason, advice, ...options });
}

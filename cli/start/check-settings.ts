// Validates the variables of a platform before `platform start` makes changes, since the backup of an older data folder
// takes long and would hide the error. The processes validate theirs again.
import { checkDatabaseUrls } from '#core/database-url.ts';
import { limitsFrom } from '#core/limits.ts';
import { logFormatFrom, logLevelFrom, requestLogFrom } from '#core/log/log-level.ts';
import { parseInteger } from '#core/parse-integer.ts';
import { encryptionKeyProblem, secretProblem } from '#core/process/generated-secrets.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { handlerAddress } from '../local/locations.ts';

/** Numeric variables with minimum and maximum. */
const numbers: Readonly<Record<string, readonly [least: number, most: number]>> = {
  API_PORT: [0, 65_535],
  HANDLER_PROCESSES: [1, 256],
  HANDLER_SPARES: [0, 16],
};

/** Variables that also accept `off`: `platform upgrade` checks a version without an API. */
const MAY_BE_OFF: ReadonlySet<string> = new Set(['API_PORT']);

/** @throws {CliError} with the variable, its value and the allowed values; without values of secrets. */
export function checkSettings(shell: Shell): void {
  const { env } = shell;
  const get = (name: string): string => env[name]?.trim() ?? '';
  handlerAddress(shell);
  try {
    limitsFrom(env);
    logLevelFrom(env);
    logFormatFrom(env, false);
    requestLogFrom(env);
    checkDatabaseUrls(env);
    for (const [name, [least, most]] of Object.entries(numbers))
      if (get(name) !== '' && !(get(name) === 'off' && MAY_BE_OFF.has(name)))
        parseInteger(name, get(name), { least, most });
  } catch (error) {
    throw new CliError((error as Error).message, {
      advice: 'Fix or unset the variable. Nothing was changed.',
    });
  }
  // The following secrets are only needed with a control plane, which requires a database.
  if (get('DATABASE_URL').toLowerCase() === 'none') return;
  const problem =
    (get('AUTH_SECRET') === '' ? null : secretProblem('AUTH_SECRET', get('AUTH_SECRET'))) ??
    (get('ENCRYPTION_KEY') === '' ? null : encryptionKeyProblem(get('ENCRYPTION_KEY')));
  if (problem !== null) throw new CliError(problem, { advice: 'Fix or unset the variable. Nothing was changed.' });
}

// Error of `platform state` for a missing entry.
import { CliError } from '../../terminal/failure.ts';

/** Replaces the "not found" error of the API with an error that names the entry. */
export function notThere(error: unknown, binding: string, key: string): unknown {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  return new CliError(`${binding} has no entry ${key}`, { advice: '`platform state list` lists the keys.' });
}

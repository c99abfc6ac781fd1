// What `platform state` says where there is no such entry.
import { CliError } from '../../terminal/failure.ts';

/** The error to throw in place of one of the API. */
export function notThere(error: unknown, binding: string, key: string): unknown {
  if (!(error instanceof CliError) || error.code !== 'not_found') return error;
  return new CliError(`${binding} holds nothing under ${key}`, { advice: '`platform state list` shows the keys.' });
}

// The token of the private port for operators who have not set one: generated at the first start, and stored in the
// data folder for the platform's own user. Read by the supervisor, which passes it to services that need it, and by
// `bench`.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { hexSecretIn } from '#core/process/secret-file.ts';

/** @param folder data folder; '' if the token is only for this start. */
export function privatePortToken(folder: string): string {
  return folder === '' ? randomBytes(32).toString('hex') : hexSecretIn(join(folder, 'private-port.token'));
}

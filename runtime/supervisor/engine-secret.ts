// The secret that engines sign sessions and addresses of files with. It follows from AUTH_SECRET, so that all machines of an
// installation have the same and no engine has that one itself; without it, one is made and kept in the data folder.
import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const charsMin = 16;

/** @throws {Error} for an AUTH_SECRET that is too short. */
export function engineSecret(environment: Readonly<Record<string, string | undefined>>, folder: string): string {
  const given = environment['AUTH_SECRET']?.trim() ?? '';
  if (given !== '' && given.length < charsMin)
    throw new Error(`AUTH_SECRET must have at least ${charsMin} characters: make one with \`openssl rand -hex 32\``);
  return createHmac('sha256', given === '' ? ownSecret(join(folder, 'secret')) : given)
    .update('engine')
    .digest('hex');
}

function ownSecret(file: string): Buffer {
  try {
    writeFileSync(file, randomBytes(32), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file);
}

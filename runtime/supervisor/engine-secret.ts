// The secret that engines sign sessions and addresses of files with. It follows from AUTH_SECRET, so that all machines of an
// installation have the same and no engine has that one itself; without it, one is made and kept in the data folder.
import { createHmac, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

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

const secretBytes = 32;

function ownSecret(file: string): Buffer {
  const kept = read(file);
  if (kept !== null) return kept;
  mkdirSync(dirname(file), { recursive: true });
  // Whole or not at all: of an empty file, anybody could reckon the secret.
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  writeFileSync(unfinished, randomBytes(secretBytes), { flag: 'wx', mode: 0o600, flush: true });
  try {
    // Another platform on the same folder may have made it at the same moment: then it is that one.
    linkSync(unfinished, file);
  } catch (error) {
    // What is there is no secret; or the file system knows no second names.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || read(file) === null) renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return readFileSync(file);
}

function read(file: string): Buffer | null {
  try {
    const kept = readFileSync(file);
    return kept.byteLength === secretBytes ? kept : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

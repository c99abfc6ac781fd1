// A secret that is made once and kept in a file, also where two processes start on one folder at the same moment. Used
// for the secret of engines (engine-secret.ts), and by dev.ts for the key that signs addresses.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

/** The 32 bytes in a file; made with its folder where they are not there, and made anew where the file is cut short. */
export function secretIn(file: string): Buffer {
  const kept = read(file);
  if (kept !== null) return kept;
  mkdirSync(dirname(file), { recursive: true });
  // Whole or not at all: of an empty file, anybody could reckon the secret.
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  writeFileSync(unfinished, randomBytes(SECRET_BYTES), { flag: 'wx', mode: 0o600, flush: true });
  try {
    // Another process on the same folder may have made it at the same moment: then it is that one.
    linkSync(unfinished, file);
  } catch (error) {
    // What is there is no secret; or the file system knows no second names.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || read(file) === null) renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return read(file) ?? secretIn(file);
}

function read(file: string): Buffer | null {
  try {
    const kept = readFileSync(file);
    return kept.byteLength === SECRET_BYTES ? kept : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

// A secret that is made once and kept in a file, also where two processes start on one folder at the same moment. Used
// for the secret of engines, by dev.ts for the key that signs addresses, and by generated-secrets.ts.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

/** The 32 bytes in a file; made with its folder where they are not there, and made anew where the file is cut short. */
export function secretIn(file: string): Buffer {
  return keptIn(
    file,
    0o755,
    (kept) => (kept.byteLength === SECRET_BYTES ? kept : null),
    (made) => made,
  );
}

/** The same as 64 hexadecimal digits on one line, for secrets that operators copy. Its folder is nobody else's. */
export function hexSecretIn(file: string): string {
  return keptIn(
    file,
    0o700,
    (kept) => /^[0-9a-f]{64}(?=\n$)/.exec(kept.toString('latin1'))?.[0] ?? null,
    (made) => Buffer.from(`${made.toString('hex')}\n`),
  );
}

function keptIn<Secret>(
  file: string,
  folderMode: number,
  parse: (kept: Buffer) => Secret | null,
  toBytes: (made: Buffer) => Buffer,
): Secret {
  const kept = read(file, parse);
  if (kept !== null) return kept;
  mkdirSync(dirname(file), { recursive: true, mode: folderMode });
  // Whole or not at all: of an empty file, anybody could reckon the secret.
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  writeFileSync(unfinished, toBytes(randomBytes(SECRET_BYTES)), { flag: 'wx', mode: 0o600, flush: true });
  try {
    // Another process on the same folder may have made it at the same moment: then it is that one.
    linkSync(unfinished, file);
  } catch (error) {
    // What is there is no secret; or the file system knows no second names.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || read(file, parse) === null) renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return read(file, parse) ?? keptIn(file, folderMode, parse, toBytes);
}

function read<Secret>(file: string, parse: (kept: Buffer) => Secret | null): Secret | null {
  try {
    return parse(readFileSync(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

/** What a file of {@link hexSecretIn} holds; null where there is none. */
export function readSecret(file: string): string | null {
  return read(file, (kept) => kept.toString('latin1').trim());
}

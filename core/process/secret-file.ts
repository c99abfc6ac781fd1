// A secret that is generated once and stored in a file, even if two processes start on one folder at the same time.
// Used for the secret of engines, by dev.ts for the key of signed URLs, and by generated-secrets.ts.
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

/** The 32 bytes in a file; generated with its folder if missing, and again if the file is truncated. */
export function secretIn(file: string): Buffer {
  return keptIn(
    file,
    0o755,
    (kept) => (kept.byteLength === SECRET_BYTES ? kept : null),
    (made) => made,
  );
}

/**
 * A secret as 64 hexadecimal digits on one line, for secrets that operators copy. The folder of the file is only
 * readable by its owner.
 */
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
  // The file is written atomically: a crash could otherwise leave an empty file, and an empty secret can be guessed.
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  writeFileSync(unfinished, toBytes(randomBytes(SECRET_BYTES)), { flag: 'wx', mode: 0o600, flush: true });
  try {
    // If another process on the same folder generated a secret at the same time, that secret is used.
    linkSync(unfinished, file);
  } catch (error) {
    // The existing content is invalid, or the file system does not support hard links.
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

/** Content of a file from {@link hexSecretIn}; null if there is none. */
export function readSecret(file: string): string | null {
  return read(file, (kept) => kept.toString('latin1').trim());
}

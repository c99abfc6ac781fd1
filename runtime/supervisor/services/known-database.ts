// Whether the platform has worked with a database of the operator's before. Where it has, and the database is away when
// the platform starts, engines serve all the same what their route records say; a first start with a wrong address
// fails. Used by main.ts.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'known-database';

/** @param url of the operator's database; '' and `none` are no such. */
export function isKnownDatabase(folder: string, url: string): boolean {
  if (folder === '' || url === '' || url.toLowerCase() === 'none') return false;
  try {
    return readFileSync(join(folder, FILE), 'utf8') === digestOf(url);
  } catch {
    return false;
  }
}

/** It answered. Nothing is kept in a folder that is there to be read, such as a migrator's in a container. */
export function rememberDatabase(folder: string, url: string): void {
  if (folder === '' || url === '' || url.toLowerCase() === 'none' || isKnownDatabase(folder, url)) return;
  try {
    writeFileSync(join(folder, FILE), digestOf(url), { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}

/** It holds a password: what is kept says no more than that it is the same. */
function digestOf(url: string): string {
  return `${createHash('sha256').update(url).digest('hex')}\n`;
}

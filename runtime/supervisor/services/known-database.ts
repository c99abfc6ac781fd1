// Whether the platform has used an external database before. If so, and the database is unavailable when the platform
// starts, engines serve from their route records all the same; a first start with a wrong URL fails. Used by main.ts.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'known-database';

/** @param url the URL of the external database; not '' or `none`. */
export function isKnownDatabase(folder: string, url: string): boolean {
  if (folder === '' || url === '' || url.toLowerCase() === 'none') return false;
  try {
    return readFileSync(join(folder, FILE), 'utf8') === digestOf(url);
  } catch {
    return false;
  }
}

/**
 * Records that the database answered. In a read-only folder, such as that of a migrator in a container, nothing is
 * stored.
 */
export function rememberDatabase(folder: string, url: string): void {
  if (folder === '' || url === '' || url.toLowerCase() === 'none' || isKnownDatabase(folder, url)) return;
  try {
    writeFileSync(join(folder, FILE), digestOf(url), { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
  }
}

/** The URL contains a password: only a digest is stored, to detect the same URL. */
function digestOf(url: string): string {
  return `${createHash('sha256').update(url).digest('hex')}\n`;
}

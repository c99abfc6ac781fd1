// The installation that a data folder belongs to, `installation`: the same id as in its database. The id detects two
// platforms, each with its own database, that were given the same folder by mistake. Called by postgres/main.ts.
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Name of the file in the data folder. A restore moves the existing file aside, because it belongs to another
 * installation.
 */
export const INSTALLATION_FILE = 'installation';

/**
 * Compares the id of the database with that of the folder, and stores it if the folder has none.
 *
 * @throws {Error} with instructions, if the folder belongs to another installation.
 */
export function checkInstallation(folder: string, id: string): void {
  const file = join(folder, INSTALLATION_FILE);
  const unfinished = `${file}.${process.pid}`;
  let found = read(file);
  if (found === null) {
    writeFileSync(unfinished, `${id}\n`, { mode: 0o600, flush: true });
    try {
      // If two processes do this at the same time, the second one reads the id of the first.
      linkSync(unfinished, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      rmSync(unfinished, { force: true });
    }
    found = read(file);
  }
  if (found === id) return;
  throw new Error(
    `The data folder ${folder} belongs to installation ${found}, the database to ${id}: two platforms never share a folder. ` +
      'Set FS_PATH to another one, or DATABASE_URL to the database of this one; to move to a new database, restore a backup into it (docs/backup.md)',
  );
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

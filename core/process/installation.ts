// Which installation a data folder belongs to, `installation`: the same id as in its database. Two platforms that were
// given one folder by mistake, each with a database of its own, are told apart by it. Called by postgres/main.ts.
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** In the data folder. A restore puts it aside: what is there then is another installation's. */
export const INSTALLATION_FILE = 'installation';

/**
 * Holds the id of the database against that of the folder, which takes it over where it has none.
 *
 * @throws {Error} with what to do, where the folder is another installation's.
 */
export function checkInstallation(folder: string, id: string): void {
  const file = join(folder, INSTALLATION_FILE);
  const unfinished = `${file}.${process.pid}`;
  let found = read(file);
  if (found === null) {
    writeFileSync(unfinished, `${id}\n`, { mode: 0o600, flush: true });
    try {
      // Whoever comes second at the same moment reads what the first one wrote.
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

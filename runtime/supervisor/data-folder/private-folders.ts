// Keeps the data folder for the platform's own user: what lies in it holds variables, code and data of projects. New
// files get their modes where they are made; this mends what an older version or another hand has left open. Called by
// the supervisor, or by an engine that has none.
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What lies in a data folder; Postgres looks after its own. */
const folders = ['artifacts', 'databases', 'edge', 'files', 'locks', 'routes', 'secrets'];

/**
 * Makes the folders that everybody reads, and takes others' rights from all there are. Nothing is done to what another
 * user owns.
 */
export function keepPrivate(dataFolder: string): void {
  // The user of an embedded Postgres has to come through it.
  mkdirSync(dataFolder, { recursive: true, mode: 0o755 });
  close(dataFolder, 0o002);
  for (const name of ['artifacts', 'routes']) mkdirSync(join(dataFolder, name), { recursive: true, mode: 0o700 });
  for (const name of folders) close(join(dataFolder, name));
  for (const name of ['secret', 'private-port.token']) close(join(dataFolder, name));
  const routes = join(dataFolder, 'routes');
  if (lstatSync(routes).uid !== process.getuid?.()) return;
  for (const name of readdirSync(routes)) if (name.endsWith('.json')) close(join(routes, name));
}

/** @param rights that nobody else may have. */
function close(path: string, rights = 0o077): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.uid !== process.getuid?.()) return;
  // What a link leads to is not ours to change.
  if ((found.isDirectory() || found.isFile()) && (found.mode & rights) !== 0)
    chmodSync(path, found.mode & 0o777 & ~rights);
}

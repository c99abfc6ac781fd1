// Restricts the data folder to the platform's own user: it contains variables, code and data of projects. New files
// are created with their modes; this fixes files left open by an older version or by hand. Called by the supervisor, or
// by an engine that runs without a supervisor.
import { chmodSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Folders in a data folder, except that of Postgres, which protects its own folder. */
const folders = ['artifacts', 'databases', 'edge', 'files', 'listener', 'locks', 'routes', 'secrets'];

/**
 * Creates the shared folders, and removes the permissions of other users from all existing folders. Files of another
 * user are not changed.
 */
export function keepPrivate(dataFolder: string): void {
  // The user of an embedded Postgres has to pass through this folder.
  mkdirSync(dataFolder, { recursive: true, mode: 0o755 });
  close(dataFolder, 0o002);
  for (const name of ['artifacts', 'routes']) mkdirSync(join(dataFolder, name), { recursive: true, mode: 0o700 });
  for (const name of folders) close(join(dataFolder, name));
  for (const name of ['secret', 'private-port.token']) close(join(dataFolder, name));
  const routes = join(dataFolder, 'routes');
  if (lstatSync(routes).uid !== process.getuid?.()) return;
  for (const name of readdirSync(routes)) if (name.endsWith('.json')) close(join(routes, name));
}

/** @param rights permissions that others may not have. */
function close(path: string, rights = 0o077): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.uid !== process.getuid?.()) return;
  // The target of a link is not changed.
  if ((found.isDirectory() || found.isFile()) && (found.mode & rights) !== 0)
    chmodSync(path, found.mode & 0o777 & ~rights);
}

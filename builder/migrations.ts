// The migrations of a project: `migrations/*.sql` for its one database, or `migrations/<BINDING>/*.sql`. Reads files, runs
// nothing; the database service applies them.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { DatabaseMigrations } from '#core/manifest.ts';
import { BuildError } from './build-error.ts';

/**
 * Reads the migrations of a project; none when it has no folder `migrations`.
 *
 * @param databases binding name -> resource, as platform.yaml declares them.
 * @throws {BuildError} when files cannot belong to one database.
 */
export async function readMigrations(root: string, databases: Readonly<Record<string, string>>): Promise<DatabaseMigrations[]> {
  const folder = path.join(root, 'migrations');
  const plain = await sqlFiles(folder);
  const bindings = Object.entries(databases);
  const inFolders: [binding: string, resource: string, names: string[]][] = [];
  for (const [binding, resource] of bindings) {
    const names = await sqlFiles(path.join(folder, binding));
    if (names.length > 0) inFolders.push([binding, resource, names]);
  }
  if (plain.length > 0 && inFolders.length > 0) {
    const binding = inFolders[0]?.[0];
    throw new BuildError('migrations', `migrations/ has SQL files and the folder ${binding}: put each file into the folder of its binding`);
  }
  if (plain.length > 0 && bindings.length !== 1) {
    const problem =
      bindings.length === 0
        ? 'declares no database: declare one under db'
        : `declares ${bindings.length}: put them into migrations/<BINDING>, such as migrations/${bindings[0]?.[0]}`;
    throw new BuildError('migrations', `migrations/ has SQL files, but platform.yaml ${problem}`);
  }
  const [only] = bindings;
  if (plain.length > 0 && only !== undefined) return [{ resource: only[1], files: await readAll(folder, plain) }];
  // Two bindings may name one resource.
  const byResource = new Map<string, (readonly [string, string])[]>();
  for (const [binding, resource, names] of inFolders) {
    if (byResource.has(resource)) {
      throw new BuildError('migrations', `Two bindings of the database ${resource} have migrations: keep those of one`);
    }
    byResource.set(resource, await readAll(path.join(folder, binding), names));
  }
  return [...byResource].map(([resource, files]) => ({ resource, files }));
}

async function sqlFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.sql'))
      .map((entry) => entry.name)
      .toSorted();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return [];
    throw error;
  }
}

function readAll(folder: string, names: readonly string[]): Promise<(readonly [string, string])[]> {
  return Promise.all(names.map(async (name) => [name, await readFile(path.join(folder, name), 'utf8')] as const));
}

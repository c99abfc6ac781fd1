// Reads the migrations of a project: `migrations/*.sql` for its only database, or `migrations/<BINDING>/*.sql`. The
// migrations are not run here; the database service applies them.
import { statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { DatabaseMigrations } from '#core/manifest.ts';
import { decodeText, isUtf16 } from '#core/text-file.ts';
import { BuildError, projectPath } from '../project/build-error.ts';
import { realPath, type Containment } from '../project/containment.ts';

/**
 * Reads the migrations of a project; none if it has no folder `migrations`.
 *
 * @param databases binding name -> resource, as declared in platform.yaml.
 * @throws {BuildError} when files cannot be assigned to a database.
 */
export async function readMigrations(
  containment: Containment,
  databases: Readonly<Record<string, string>>,
): Promise<DatabaseMigrations[]> {
  const { root } = containment;
  const folder = path.join(root, 'migrations');
  const plain = await sqlFiles(folder, containment);
  const bindings = Object.entries(databases);
  const inFolders: [binding: string, resource: string, names: string[]][] = [];
  for (const [binding, resource] of bindings) {
    const names = await sqlFiles(path.join(folder, binding), containment);
    if (names.length > 0) inFolders.push([binding, resource, names]);
  }
  if (plain.length > 0 && inFolders.length > 0) {
    const binding = inFolders[0]?.[0];
    throw new BuildError(
      'migrations',
      `migrations/ has SQL files and the folder ${binding}: put each file into the folder of its binding`,
    );
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
  // Two bindings may refer to the same resource.
  const byResource = new Map<string, (readonly [string, string])[]>();
  for (const [binding, resource, names] of inFolders) {
    if (byResource.has(resource)) {
      throw new BuildError('migrations', `Two bindings of the database ${resource} have migrations: keep those of one`);
    }
    byResource.set(resource, await readAll(path.join(folder, binding), names));
  }
  return [...byResource].map(([resource, files]) => ({ resource, files }));
}

/** Names of the SQL files in a folder. Links are followed within the project. */
async function sqlFiles(folder: string, containment: Containment): Promise<string[]> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
    throw error;
  });
  if (entries === null) return [];
  refuseOutside(folder, containment);
  const names = entries.filter((name) => name.endsWith('.sql')).toSorted();
  for (const name of names) refuseOutside(path.join(folder, name), containment);
  return names.filter((name) => statSync(path.join(folder, name)).isFile());
}

function refuseOutside(file: string, containment: Containment): void {
  if (containment.holds(file)) return;
  throw new BuildError(
    'outside',
    `${projectPath(containment.root, file)} is a link to ${realPath(file) === null ? 'a missing path' : 'a path outside the project'}`,
  );
}

function readAll(folder: string, names: readonly string[]): Promise<(readonly [string, string])[]> {
  return Promise.all(
    names.map(async (name) => {
      const bytes = await readFile(path.join(folder, name));
      // A UTF-8 byte order mark is kept, so that applied migrations keep their hash; SQLite ignores it.
      return [name, isUtf16(bytes) ? decodeText(bytes, name) : bytes.toString()] as const;
    }),
  );
}

// One bundle for each process of a packed program: a process then loads a file instead of hundreds of modules
// (docs/decisions/141-one-bundle-a-process.md). Called by `npm run pack` and `:image`. The modules stay next to the
// bundles, because builds and sandboxes load some of them by path.
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { readMetaProperties } from '../tools/imports.ts';

/**
 * Main modules of the processes. Builds and sandboxes are not included, because they have only a part of the program.
 */
export const bundledEntries = [
  'cli/main.js',
  'runtime/supervisor/main.js',
  'runtime/engine/main.js',
  'runtime/broker/main.js',
  'runtime/databases/main.js',
  'runtime/databases/shard/shard.js',
  'runtime/edge/main.js',
  'runtime/migrator/main.js',
  'runtime/mirror/main.js',
  'runtime/ssr/main.js',
  'builder/service/main.js',
  'control/main.js',
  'gateway/main.js',
  'operations/backup/main.js',
  'postgres/main.js',
  'sandbox/main.js',
  'web/main.js',
];
/** The folder of the bundles, two folders below the root of the program, as {@link PLACE} requires. */
const FOLDER = 'bundles';
/** A module of each bundle that replaces `import.meta` of the program's modules. */
const PLACE = 'platform:place';
const placeModule = `
import path from 'node:path';
import { pathToFileURL } from 'node:url';
export function placeOf(file) {
  const filename = path.join(import.meta.dirname, '../..', file);
  return {
    filename,
    dirname: path.dirname(filename),
    url: pathToFileURL(filename).href,
    resolve: (specifier) => import.meta.resolve(specifier),
  };
}
`;

/**
 * Creates a bundle for each entry of a staged program, which the entry then imports. Packages are not bundled, and a
 * module that is missing in the program is resolved when it is imported.
 *
 * @param folder the result of `stageProgram`; missing entries are omitted.
 * @throws {Error} if a module does not parse, or an import names an export that does not exist.
 */
export async function bundleEntries(folder: string, entries: readonly string[] = bundledEntries): Promise<void> {
  const found = entries.filter((entry) => existsSync(path.join(folder, entry)));
  for (const entry of found) await bundle(folder, entry);
  // The entries are replaced after all bundles are built, because a bundle may contain another entry.
  for (const entry of found) {
    const target = path.posix.relative(path.posix.dirname(entry), `${bundleFolder(entry)}/main.js`);
    writeFileSync(path.join(folder, entry), `export * from '${target}';\n`);
  }
}

/** @example bundleFolder('runtime/engine/main.js') // 'bundles/runtime-engine-main' */
function bundleFolder(entry: string): string {
  return `${FOLDER}/${entry.replace(/\.js$/, '').replaceAll('/', '-')}`;
}

async function bundle(folder: string, entry: string): Promise<void> {
  const built = await rolldown({
    cwd: folder,
    input: { main: path.join(folder, entry) },
    platform: 'node',
    external: (id, importer) => {
      if (id === PLACE || path.isAbsolute(id)) return false;
      if (id.startsWith('#')) return !existsSync(path.join(folder, id.slice(1)));
      if (id.startsWith('.')) return !existsSync(path.resolve(path.dirname(importer ?? folder), id));
      return true;
    },
    plugins: [ownPlaces(folder)],
    onLog(level, log) {
      if (level === 'warn' && log.code === 'IMPORT_IS_UNDEFINED') throw new Error(log.message);
    },
  });
  try {
    await built.write({
      dir: path.join(folder, bundleFolder(entry)),
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      comments: false,
    });
  } finally {
    await built.close();
  }
}

/** Modules find files relative to their own path, not to the path of their bundle. */
function ownPlaces(folder: string): Plugin {
  return {
    name: 'own-places',
    resolveId: (id) => (id === PLACE ? id : null),
    load: (id) => (id === PLACE ? placeModule : null),
    transform(code, id) {
      if (id === PLACE) return null;
      const places = readMetaProperties(id, code);
      if (places.length === 0) return null;
      let result = code;
      for (const { start, end } of places.toReversed())
        result = `${result.slice(0, start)}ownPlace${result.slice(end)}`;
      const file = path.relative(folder, id);
      return `import { placeOf } from '${PLACE}';\nconst ownPlace = placeOf(${JSON.stringify(file)});\n${result}`;
    },
  };
}

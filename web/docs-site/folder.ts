// Folder of a clone's built documentation: in the cache, by the hash of its inputs. The package contains a built site
// (web/sites.ts). Called by build/main.ts.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, keepBuild, openCacheFolder } from '#core/process/cache-folder.ts';
import { MANIFEST_FILE } from '../serve/site-manifest.ts';

const root = path.join(import.meta.dirname, '../..');
/** All inputs, including the sources of commands and the API, from which pages are generated. */
const SOURCES = [
  'docs/**/*',
  '{ARCHITECTURE,CHANGELOG,CONTRIBUTING,SECURITY}.md',
  'bench/results/**/*.md',
  'web/{build,docs-site}/**/*',
  'cli/commands/**/*.ts',
  'control/api/**/*.ts',
  'packages/worker/*.ts',
  'core/errors.ts',
  'core/errors/*.ts',
  'control/http/errors.ts',
  'resources/refusals.ts',
  'dashboard/src/styles/tokens.css',
  'package-lock.json',
];
/** Low compression, since a user is waiting: slightly larger, ten times as fast. */
const QUALITY = 5;

/**
 * The folder of the built site, built if missing (about ten seconds).
 *
 * @throws {Error} if the build fails.
 */
export async function docsFolder(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const cache = cacheFolder(environment);
  openCacheFolder(cache);
  const builds = path.join(cache, 'docs');
  const folder = path.join(builds, sourcesHash());
  if (existsSync(path.join(folder, MANIFEST_FILE))) {
    keepBuild(folder);
    return folder;
  }
  mkdirSync(builds, { recursive: true });
  const fresh = mkdtempSync(path.join(builds, 'new-'));
  try {
    const { buildDocs } = await import('./build.ts');
    await buildDocs(fresh, QUALITY);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    // Another process may have finished the same build.
    if (!existsSync(path.join(folder, MANIFEST_FILE))) throw error;
  }
  keepBuild(folder);
  return folder;
}

/** Hash of all inputs. */
function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: root }).filter((file) => statSync(path.join(root, file)).isFile());
  for (const file of files.sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(root, file)))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}

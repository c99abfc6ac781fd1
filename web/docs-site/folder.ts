// Where the built documentation of a clone lies: in the cache, by the hash of everything it is made of. The packed
// program brings it (web/sites.ts). Called by build/main.ts.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, keepBuild, openCacheFolder } from '#core/process/cache-folder.ts';
import { MANIFEST_FILE } from '../serve/site-manifest.ts';

const root = path.join(import.meta.dirname, '../..');
/** Everything that decides what comes out; commands and the API describe themselves. */
const SOURCES = [
  'docs/**/*',
  '{ARCHITECTURE,CONTRIBUTING,SECURITY}.md',
  'bench/results/**/*.md',
  'web/{build,docs-site}/**/*',
  'cli/commands/**/*.ts',
  'control/api/**/*.ts',
  'packages/worker/*.ts',
  'core/errors.ts',
  'dashboard/src/styles/tokens.css',
  'package-lock.json',
];
/** Somebody waits for it: little less small, and ten times as quick. */
const QUALITY = 5;

/**
 * The folder of the built site, built first where it is not there (about ten seconds).
 *
 * @throws {Error} where it does not build.
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
    // Another process has built the same meanwhile.
    if (!existsSync(path.join(folder, MANIFEST_FILE))) throw error;
  }
  keepBuild(folder);
  return folder;
}

/** Names the state of everything that a build depends on. */
export function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: root }).filter((file) => statSync(path.join(root, file)).isFile());
  for (const file of files.sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(root, file)))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}

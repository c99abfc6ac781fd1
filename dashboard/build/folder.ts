// Folder of the built dashboard: in the package, or in the cache of a clone, built at the first start. Called by
// `platform dev` and by web/.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, keepBuild, openCacheFolder } from '#core/process/cache-folder.ts';

const packed = join(import.meta.dirname, '../dist');

/**
 * The folder with index.html and assets/. In a clone, the first call builds the dashboard, which takes a few seconds.
 *
 * @throws {Error} if the build fails.
 * @example const folder = await dashboardFolder(process.env);
 */
export async function dashboardFolder(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  if (existsSync(join(packed, 'index.html'))) return packed;
  const { buildDashboard, sourcesHash } = await import('./build.ts');
  const cache = cacheFolder(environment);
  openCacheFolder(cache);
  const builds = join(cache, 'dashboard');
  const folder = join(builds, sourcesHash());
  if (existsSync(join(folder, 'index.html'))) {
    keepBuild(folder);
    return folder;
  }
  mkdirSync(builds, { recursive: true });
  const fresh = mkdtempSync(join(builds, 'new-'));
  try {
    await buildDashboard(fresh);
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    // Another process may have finished the same build.
    if (!existsSync(join(folder, 'index.html'))) throw error;
  }
  keepBuild(folder);
  return folder;
}

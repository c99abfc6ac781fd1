// Builds the dashboard as a site: the output of dashboard/, precompressed, with a manifest and CSP.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { dashboardFolder } from '#dashboard/build/folder.ts';
import { MANIFEST_FILE } from '../serve/site-manifest.ts';
import { finishSite } from '../serve/finish-site.ts';

/** Low compression, since a user is waiting. */
const QUALITY = 5;

/** Folder of a clone's dashboard site, built if missing. */
export async function buildDashboardSite(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const folder = await dashboardFolder(environment);
  if (!existsSync(path.join(folder, MANIFEST_FILE))) await finishDashboard(folder, QUALITY);
  return folder;
}

/** Finishes a built dashboard, with a CSP that also requires Trusted Types. */
export async function finishDashboard(folder: string, quality?: number): Promise<void> {
  await finishSite(folder, {
    fallback: 'index.html',
    isHashed: (name) => name.startsWith('assets/'),
    policy: { 'require-trusted-types-for': ["'script'"], 'trusted-types': ["'none'"] },
    ...(quality !== undefined && { quality }),
  });
}

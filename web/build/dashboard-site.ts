// The dashboard as a site: what dashboard/ builds, with compressed forms and the policy of its pages.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { dashboardFolder } from '#dashboard/build/folder.ts';
import { MANIFEST_FILE } from '../serve/site-manifest.ts';
import { finishSite } from './finish-site.ts';

/** Somebody waits for it. */
const QUALITY = 5;

/** The folder of a clone's dashboard, built and finished where it is not yet. */
export async function buildDashboardSite(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const folder = await dashboardFolder(environment);
  if (!existsSync(path.join(folder, MANIFEST_FILE))) await finishDashboard(folder, QUALITY);
  return folder;
}

/** Finishes a built dashboard; its pages may not even make HTML of a text. */
export async function finishDashboard(folder: string, quality?: number): Promise<void> {
  await finishSite(folder, {
    fallback: 'index.html',
    isHashed: (name) => name.startsWith('assets/'),
    policy: { 'require-trusted-types-for': ["'script'"], 'trusted-types': ["'none'"] },
    ...(quality !== undefined && { quality }),
  });
}

// Builds the sites of a clone into the cache, in a process separate from the web process, which must not load bundlers
// (web/sites.ts). Sends the folder or the error of each site to its parent process.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { docsFolder } from '../docs-site/folder.ts';
import { MANIFEST_FILE } from '../serve/site-manifest.ts';
import { buildDashboardSite } from './dashboard-site.ts';

for (const name of process.argv.slice(2)) {
  try {
    const folder = name === 'docs' ? await docsFolder(process.env) : await buildDashboardSite(process.env);
    if (!existsSync(path.join(folder, MANIFEST_FILE))) throw new Error(`${folder} contains no site`);
    process.send?.({ name, folder });
  } catch (error) {
    process.send?.({ name, error: (error as Error).stack ?? String(error) });
  }
}
// Disconnect after the messages were sent, and exit: bundlers leave threads behind.
process.disconnect?.();
process.once('disconnect', () => process.exit(0));

// Builds the sites of a clone into the cache, one process for one start of the platform (web/sites.ts): it may load
// bundlers, which the web process must not. Says where each one lies, or why it does not.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { docsFolder } from '../docs-site/folder.ts';
import { MANIFEST_FILE } from '../serve/site-manifest.ts';
import { buildDashboardSite } from './dashboard-site.ts';

for (const name of process.argv.slice(2)) {
  try {
    const folder = name === 'docs' ? await docsFolder(process.env) : await buildDashboardSite(process.env);
    if (!existsSync(path.join(folder, MANIFEST_FILE))) throw new Error(`${folder} holds no site`);
    process.send?.({ name, folder });
  } catch (error) {
    process.send?.({ name, error: (error as Error).stack ?? String(error) });
  }
}
// Bundlers leave threads behind; what was sent has to be gone before.
process.disconnect?.();
process.once('disconnect', () => process.exit(0));

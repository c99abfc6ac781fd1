// `node cli/run.mjs :pictures`: renews docs/pictures/, the screenshots in README and docs/, from the real dashboard.
import path from 'node:path';
import { run as runBrowserTests } from './browser.ts';
import { root } from './tools/processes.ts';

export function run(): Promise<number> {
  process.env['PICTURES_FOLDER'] = path.join(root, 'docs/pictures');
  return runBrowserTests(['pictures']);
}

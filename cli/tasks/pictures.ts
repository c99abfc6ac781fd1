// `node cli/run.mjs :pictures`: updates docs/pictures/, the screenshots of README.md and docs/, with the real
// dashboard.
import path from 'node:path';
import { run as runBrowserTests } from './browser.ts';
import { root } from './tools/processes.ts';

export function run(): Promise<number> {
  process.env['PICTURES_FOLDER'] = path.join(root, 'docs/pictures');
  return runBrowserTests(['pictures']);
}

// `npm test -- browser`: tests the dashboard of a whole platform, and the documentation, in a real Chromium.
// DASHBOARD_SHOTS=<folder> keeps screenshots of each page. Words pick files.
import { chromium } from './tools/chromium.ts';
import { run as runTests } from './test.ts';

export async function run(words: readonly string[]): Promise<number> {
  if (chromium === null) {
    process.stdout.write('The browser tests cannot run: Chromium is not installed (apt-get install chromium)\n');
    // CI installs Chromium, so its absence is a failure there.
    return process.env['CI'] === undefined ? 0 : 1;
  }
  const flags = words.filter((word) => word.startsWith('--'));
  const files = words.filter((word) => !word.startsWith('--'));
  // Sequentially: a browser and a platform already keep two cores busy.
  return runTests([
    '--test-concurrency=2',
    ...(files.length === 0 ? ['test/browser/'] : files.map((file) => `test/browser/${file}`)),
    ...flags,
  ]);
}

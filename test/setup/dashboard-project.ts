// The project that the dashboard of `platform dev` is shown with: one binding of every kind.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Its platform.yaml. */
const configuration = `
name: shop
db: {DB: guests}
queue: {JOBS: jobs}
state: {KV: kv}
cache: {CACHE: texts}
fs: {FILES: files}
timer: {TIMER: timers}
workflow: {ORDER: order}
auth: {binding: PLATFORM_AUTH}
cron:
  NIGHTLY: '0 3 1 1 *'
`;

/** Variables with which what cannot be delivered is a dead letter at once. */
export const deliveredOnce = { DELIVERY_RETRIES: '1', DELIVERY_BACKOFF_MS: '1', DELIVERY_BACKOFF_MS_MAX: '1' };

/** Writes it to a folder of its own. @param files besides platform.yaml, by path */
export async function createDashboardProject(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-dashboard-'));
  for (const [path, text] of Object.entries({ 'platform.yaml': configuration, ...files })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

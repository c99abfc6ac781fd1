// How often a queue, a database, a state, files, a workflow and a timer ran, on their pages: of production and of a
// preview, which are counted beside each other. In Chromium, in each width and theme.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { send } from '#test/setup/send.ts';
import { API_PAUSE_MS, eventually, type Json } from '#test/setup/whole-platform.ts';

const PROJECT = 'measured-shop';
const BRANCH = 'login';
const yaml = `name: ${PROJECT}
db: { DB: orders }
queue: { MAIL: mail }
workflow: { ORDER: order }
state: { KV: settings }
fs: { FILES: pictures }
timer: { CLOCK: clock }
`;
const worker = `export default {
  async fetch(request, env) {
    await env.DB.prepare('SELECT * FROM article').all();
    await env.MAIL.send({ to: 'ann@example.com' });
    await env.KV.put('theme', 'dark');
    await env.FILES.put('a.txt', 'hello');
    await env.ORDER.trigger({ item: 'tea' });
    await env.CLOCK.set(crypto.randomUUID(), { afterMs: 1 });
    return new Response('ok');
  },
  message: () => undefined,
  timer: () => undefined,
  workflows: { order: async () => 'done' },
};
`;
/** Of each branch's worker; null: production. */
const requests = new Map<string | null, number>([
  [null, 5],
  [BRANCH, 2],
]);
const pages: readonly (readonly [name: string, kind: string, at: string, title: string])[] = [
  ['queue', 'queue', 'jobs/queues/MAIL', 'Deliveries in 24 hours'],
  ['workflow', 'workflow', 'jobs/workflows/ORDER', 'Invocations in 24 hours'],
  ['timer', 'timer', 'jobs/timers/CLOCK', 'Invocations in 24 hours'],
  ['database', 'db', 'storage/databases/DB?view=metrics', 'Calls in 24 hours'],
  ['state', 'state', 'storage/state/KV', 'Calls in 24 hours'],
  ['files', 'fs', 'storage/files/FILES', 'Calls in 24 hours'],
];

let dashboard: SharedDashboard;
let project: Json;

before(async () => {
  dashboard = await openSharedDashboard('metrics');
  const { platform, organization } = dashboard;
  const folder = path.join(platform.folder, PROJECT);
  for (const [file, text] of [
    ['platform.yaml', yaml],
    ['src/index.ts', worker],
    ['migrations/0001_articles.sql', 'CREATE TABLE article (id INTEGER PRIMARY KEY);\n'],
  ] as const) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  await platform.cli(folder, 'deploy');
  await platform.cli(folder, 'deploy', '--branch', BRANCH);
  [project] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items;
  for (const [branch, count] of requests)
    for (let index = 0; index < count; index++) {
      const host = `${PROJECT}${branch === null ? '' : `--${branch}`}.localhost`;
      const { status, text } = await send(platform.ports.handler, host, '/');
      assert.equal(status, 200, text);
    }
  for (const [branch, count] of requests)
    for (const [, kind] of pages) {
      const query = `kind=${kind}${branch === null ? '' : `&branch=${branch}`}`;
      await eventually(
        `The ${kind} of ${branch ?? 'production'}`,
        async () => {
          const { totals } = await platform.call('GET', `/projects/${project.id}/analytics?${query}`);
          return totals.requests >= (branch === null ? count + requests.get(BRANCH)! : count);
        },
        API_PAUSE_MS,
      );
    }
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

/** Address of a page for production, or for the preview. */
const addressOf = (at: string, branch: string | null): string =>
  `/projects/${PROJECT}/${at}${branch === null ? '' : `${at.includes('?') ? '&' : '?'}branch=${branch}`}`;

for (const [name, kind, at, title] of pages)
  test(`the page of a ${name} shows the numbers of production, and of a preview its own`, async () => {
    for (const [branch, count] of requests) {
      const page = await dashboard.visit(addressOf(at, branch));
      const total = page.locator('dl > div').filter({ hasText: title }).locator('dd');
      // A workflow's run and its steps can be more than one invocation.
      const exact = kind !== 'workflow';
      await total.waitFor();
      const shown = Number(await total.innerText());
      assert.ok(exact ? shown === count : shown >= count, `${name} of ${branch ?? 'production'}: ${shown}`);
      await page.getByRole('img', { name: title }).waitFor();
    }
  });

test('analytics of a kind lists its names, those of previews with their branch', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/analytics?kind=queue`);
  const table = page.getByRole('table', { name: 'Queues' });
  await table.getByText('mail', { exact: true }).waitFor();
  await table.getByText('mail (preview login)', { exact: true }).waitFor();
});

for (const [name, , at] of pages)
  test(`the page metrics-${name} fits every screen, in both themes, without a fault for axe`, () =>
    dashboard.inspect(`metrics-${name}`, addressOf(at, null)));

test('the metrics of a preview fit every screen, in both themes, without a fault for axe', () =>
  dashboard.inspect('metrics-preview', addressOf('jobs/queues/MAIL', BRANCH)));

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

// The dashboard of `platform dev` in Chromium: every page in every width and theme, and what its user does: look at a
// row and change it, redrive a dead letter, run a workflow again from a step, send a request again.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { fillBindings, taskProject, testBindingTasks, type TaskPlace } from '#test/setup/binding-tasks.ts';
import { openDashboardBrowser, type DashboardBrowser } from '#test/setup/dashboard-browser.ts';
import { createDashboardProject, deliveredOnce } from '#test/setup/dashboard-project.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';

let folder: string;
let dev: TestDev;
let dashboard: DashboardBrowser;
let place: TaskPlace;

before(async () => {
  // Room for a line of a megabyte.
  Object.assign(process.env, { ...deliveredOnce, WORKER_LOG_BYTES_MAX: '2000000' });
  folder = await createDashboardProject({ ...taskProject, '.env': 'SECRET=hunter2\n' });
  dev = await startDev(folder);
  const base = (await dev.printed(/Dashboard (http:\/\/127\.0\.0\.1:\d+)/))[1]!;
  dashboard = await openDashboardBrowser(base);
  place = {
    dashboard,
    async ask(method, path, body) {
      const answer = await fetch(`${base}/api/projects/shop${path}`, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
      return answer.status === 204 ? undefined : answer.json();
    },
    async visitApp(path, body) {
      return dev.fetch(path, {
        ...(body !== undefined && {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: `http://localhost:${dev.port}` },
          body: JSON.stringify(body),
        }),
      });
    },
  };
  await fillBindings(place);
  for (const key of ['docs%2Freport.html', 'a%20long%20name.txt'])
    await fetch(`${base}/api/projects/shop/files/FILES/content?key=${key}`, { method: 'PUT', body: 'hello' });
});
afterEach(() => dashboard?.closePages());
after(async () => {
  await dashboard?.close();
  await dev?.close();
  await rm(folder, { recursive: true, force: true });
});

const project = '/projects/shop';
for (const [name, at] of [
  ['dev-requests', ''],
  ['dev-logs', '/logs'],
  ['dev-settings', '/settings'],
  ['dev-rows', '/storage/databases/DB?table=guests'],
  ['dev-row', '/storage/databases/DB?table=guests&row=1'],
  ['dev-columns', '/storage/databases/DB?table=guests&view=columns'],
  ['dev-sql', '/storage/databases/DB?view=sql'],
  ['dev-slow', '/storage/databases/DB?view=slow'],
  ['dev-copies', '/storage/databases/DB?view=copies'],
  ['dev-state', '/storage/state/KV'],
  ['dev-state-entry', '/storage/state/KV?key=settings%2Ftheme'],
  ['dev-files', '/storage/files/FILES'],
  ['dev-cache', '/storage/caches/CACHE'],
  ['dev-objects', '/storage/objects/ROOM'],
  ['dev-object', '/storage/objects/ROOM?key=lobby'],
  ['dev-dead', '/jobs/queues/JOBS'],
  ['dev-messages', '/jobs/queues/LATER?list=waiting'],
  ['dev-runs', '/jobs/workflows/ORDER'],
  ['dev-run', '/jobs/workflows/ORDER?run=run-1'],
  ['dev-timers', '/jobs/timers/TIMER'],
  ['dev-schedules', '/jobs/schedules'],
  ['dev-users', '/users'],
] as const)
  test(`${name} fits in every width and theme, and axe finds nothing serious`, () =>
    dashboard.inspect(name, `${project}${at}`));

test('the page of every other route fits in every width and theme, and axe finds nothing', () =>
  dashboard.inspectRest({ project: 'shop' }));

testBindingTasks(() => place);

test('a request is sent again, and its headers, its lines and secrets are told apart', async () => {
  const page = await dashboard.visit(project);
  const rows = page.getByRole('table', { name: 'Requests' }).getByRole('row').filter({ hasText: 'GET /teapot' });
  assert.equal(await rows.count(), 1);
  await rows.first().click();
  const sheet = page.getByRole('dialog');
  await sheet.getByText('asked for <b>/teapot</b>').waitFor();
  await sheet.getByText('Response headers').waitFor();
  assert.equal(await sheet.getByText('hunter2').count(), 0);
  await sheet.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('Request replayed: 418').waitFor();
  await sheet.getByRole('button', { name: 'Close' }).click();
  await rows.nth(1).waitFor();
});

test('a line of a megabyte is cut until somebody wants all of it', async () => {
  await place.visitApp('/long');
  const page = await dashboard.visit(`${project}/logs`);
  const log = page.getByRole('log', { name: 'Lines' });
  const whole = log.getByRole('button', { name: /^… Show all [\d,]+ characters$/ });
  await whole.waitFor();
  assert.ok((await log.innerText()).length < 40_000);
  await whole.click();
  await log.getByRole('button', { name: 'Show less' }).waitFor();
});

test('no page complains', () => {
  assert.deepEqual(dashboard.complaints, []);
});

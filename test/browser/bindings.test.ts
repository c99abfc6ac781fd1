// What bindings hold, in the dashboard of production in Chromium: each page in every width and theme, also of all other
// routes, and what people do there. test/browser/dev.test.ts does the same under `platform dev`.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { fillBindings, taskProject, testBindingTasks, type TaskPlace } from '#test/setup/binding-tasks.ts';
import { send } from '#test/setup/handler.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { eventually } from '#test/setup/whole-platform.ts';

let dashboard: SharedDashboard;
let place: TaskPlace;

before(async () => {
  dashboard = await openSharedDashboard('bindings');
  const { platform, organization } = dashboard;
  const folder = path.join(platform.folder, 'shop');
  for (const [file, text] of Object.entries({ ...taskProject, 'package.json': '{"type":"module"}' })) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  }
  await platform.cli(folder, 'deploy');
  const [{ id }] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items;
  place = {
    dashboard,
    ask: (method, at, body) => platform.call(method, `/projects/${id}${at}`, body),
    visitApp: (at, body) => {
      const host = `shop.localhost:${platform.ports.handler}`;
      return send(platform.ports.handler, host, at, {
        ...(body !== undefined && {
          method: 'POST',
          headers: { 'content-type': 'application/json', origin: `http://${host}` },
          body: JSON.stringify(body),
        }),
      });
    },
  };
  await fillBindings(place);
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

for (const [name, at] of [
  ['rows', '/storage/databases/DB?table=guests'],
  ['row', '/storage/databases/DB?table=guests&row=1'],
  ['columns', '/storage/databases/DB?table=guests&view=columns'],
  ['slow', '/storage/databases/DB?view=slow'],
  ['sql', '/storage/databases/DB?view=sql'],
  ['copies', '/storage/databases/DB?view=copies'],
  ['state', '/storage/state/KV'],
  ['files', '/storage/files/FILES'],
  ['cache', '/storage/caches/CACHE'],
  ['objects', '/storage/objects/ROOM'],
  ['object', '/storage/objects/ROOM?key=lobby'],
  ['dead-letters', '/jobs/queues/JOBS'],
  ['runs', '/jobs/workflows/ORDER'],
  ['run', '/jobs/workflows/ORDER?run=run-1'],
  ['timers', '/jobs/timers/TIMER'],
  ['schedules', '/jobs/schedules'],
  ['users', '/users'],
] as const)
  test(`the page ${name} fits every width in both themes, without a serious fault`, () =>
    dashboard.inspect(name, `/projects/shop${at}`));

test('the page of every other route fits every width in both themes, without a fault', () =>
  dashboard.inspectRest({ project: 'shop', org: dashboard.organization.slug }));

test('in a window made narrow, tabs stay in one row that scrolls, with the current one in view', async () => {
  const page = await dashboard.visit('/projects/shop/storage/databases/DB?view=metrics', { alone: true });
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [row, current] of [
    ['View', 'Metrics'],
    ['Storage', 'Databases'],
  ] as const) {
    const tabs = page.getByRole('navigation', { name: row, exact: true });
    const tab = tabs.getByRole('link', { name: current });
    await eventually('The current tab', async () => {
      const { x, width } = (await tab.boundingBox())!;
      return x >= 0 && x + width <= 390;
    });
    const [{ height }, { height: ofTab }] = [(await tabs.boundingBox())!, (await tab.boundingBox())!];
    assert.ok(height < 1.5 * ofTab, `${row} is ${height} pixels high`);
  }
});

testBindingTasks(() => place);

test('no page complains', () => {
  assert.deepEqual(dashboard.complaints, []);
});

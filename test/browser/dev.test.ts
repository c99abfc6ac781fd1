// The dashboard of `platform dev` in Chromium: every page in every width and theme, and what its user does: look at a
// row and change it, redrive a dead letter, run a workflow again from a step, send a request again.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { resourceProject } from '#test/contract/resource-api.ts';
import { openDashboardBrowser, type DashboardBrowser } from '#test/setup/dashboard-browser.ts';
import { createDashboardProject } from '#test/setup/dashboard-project.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';

const worker = resourceProject['src/index.ts'].replace(
  "return new Response('ok');",
  `const { pathname } = new URL(request.url);
    console.log('asked for <b>' + pathname + '</b>');
    if (pathname === '/throw') throw new Error('on purpose');
    return Response.json({ got: await request.text() }, { status: pathname === '/teapot' ? 418 : 200, headers: { 'set-cookie': 'sid=hunter2; Path=/' } });`,
);

let folder: string;
let dev: TestDev;
let dashboard: DashboardBrowser;
let base: string;
const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
  const answer = await fetch(`${base}/api/projects/shop${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? undefined : answer.json();
};

before(async () => {
  Object.assign(process.env, { DELIVERY_RETRIES: '1', DELIVERY_BACKOFF_MS: '1', DELIVERY_BACKOFF_MS_MAX: '1' });
  folder = await createDashboardProject({ ...resourceProject, 'src/index.ts': worker, '.env': 'SECRET=hunter2\n' });
  dev = await startDev(folder);
  base = (await dev.printed(/Dashboard (http:\/\/127\.0\.0\.1:\d+)/))[1]!;
  dashboard = await openDashboardBrowser(base);
  const rows = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO guests (name, photo) SELECT 'guest ' || i, CASE WHEN i % 3 = 0 THEN x'00ff10' END FROM n`;
  await ask('POST', '/databases/DB/query', { sql: rows });
  await ask('POST', '/databases/DB/query', {
    sql: 'UPDATE guests SET name = ?1 WHERE id = 2',
    params: ['<img src=x onerror=alert(1)>'],
  });
  await ask('POST', '/databases/DB/query', {
    sql: 'UPDATE guests SET name = ?1 WHERE id = 3',
    params: ['שלום עולם '.repeat(100_000)],
  });
  await ask('POST', '/databases/DB/copies');
  for (const n of [1, 2, 3])
    await ask('POST', '/queues/JOBS/messages', { payload: { poison: true, n, note: '<b>x</b>' } });
  await ask('POST', '/queues/LATER/messages', { payload: { n: 1 }, delaySeconds: 6000 });
  await ask('PUT', '/state/KV/entry?key=settings%2Ftheme', { value: '{"dark":true}', metadata: { by: 'me' } });
  await ask('PUT', '/state/KV/entry?key=large', { value: 'x'.repeat(1_000_000), expirationTtl: 86_400 });
  await ask('PUT', '/state/KV/entry?key=bytes', { base64: 'AAECAwT/' });
  await fetch(`${base}/api/projects/shop/files/FILES/content?key=docs%2Freport.html`, { method: 'PUT', body: 'x' });
  await fetch(`${base}/api/projects/shop/files/FILES/content?key=a%20long%20name.txt`, {
    method: 'PUT',
    body: 'hello',
  });
  await ask('PUT', '/timers/TIMER/entry?key=egg', { afterMs: 86_400_000, payload: { n: 1 } });
  await ask('POST', '/workflows/ORDER/runs', { input: { price: 40 }, id: 'run-1' });
  await ask('POST', '/users', { email: 'ann@example.org', password: 'long enough', name: 'Ann' });
  await dev.fetch('/cache');
  for (const path of ['/first', '/teapot', '/throw']) await dev.fetch(path);
});
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

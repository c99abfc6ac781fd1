// Analytics of a project say what a separate client counted: status classes, failures and latency, by route, over
// minutes and hours, from an engine through the supervisor into the ledger.
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { after, before, test } from 'node:test';
import { bucketOf, latencyScale } from '#core/histogram.ts';
import type { UsageBatch } from '#core/usage-row.ts';
import { run } from '#cli/main.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { newId } from '#control/records/ids.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { measure } from '#control/alerts/measure.ts';
import { addUsage } from '#control/usage/store.ts';
import { takeUsage } from '#control/usage/collect.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { startPlatformHere, type PlatformHere } from '#test/setup/platform-here.ts';
import { until } from '#test/setup/until.ts';
import { usageRow } from '#test/setup/usage-row.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

const FIRST_BYTE_MS = 80;
const BODY_MS = 120;
const worker = `
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === '/throw') throw new Error('no');
    if (pathname === '/e500') return new Response('bad', { status: 500 });
    if (pathname === '/v2/moved') return Response.redirect('http://shop.localhost/', 307);
    if (pathname === '/missing') return new Response('none', { status: 404 });
    if (pathname === '/later') ctx.waitUntil(pause(${10 * BODY_MS}));
    if (pathname === '/slow') {
      await pause(${FIRST_BYTE_MS});
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      ctx.waitUntil((async () => {
        await writer.write(new TextEncoder().encode('begun'));
        await pause(${BODY_MS});
        await writer.close();
      })());
      return new Response(readable);
    }
    return new Response('hello');
  },
};`;
const requests: Readonly<Record<string, number>> = {
  '/': 7,
  '/e500': 4,
  '/throw': 3,
  '/v2/moved': 2,
  '/missing': 5,
  '/users/7': 1,
  '/users/8': 1,
  '/slow': 6,
  '/later': 2,
};

// oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
type Json = any;
let platform: PlatformHere;
let control: TestControl;
let projectId: string;
let acknowledged: string | null = null;
/** What the client counted: by status class, and the longest request by path. */
const counted: Record<string, number> = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, other: 0 };
const longest = new Map<string, number>();

const analytics = async (query: string): Promise<Json> => {
  const { status, body } = await control.call('GET', `/projects/${projectId}/analytics?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};

before(async () => {
  platform = await startPlatformHere({ shop: worker }, {}, { databases: false });
  const privatePort = {
    async ask(path: string, body: unknown) {
      const { status, json } = await platform.ask(path, body);
      return { status, body: json() as never };
    },
  } as PrivatePort;
  control = await startControl({ privatePort });
  projectId = newId('project');
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${projectId}, ${control.organizationId}, 'shop')`;
  await Promise.all(
    Object.entries(requests).flatMap(([path, count]) =>
      Array.from({ length: count }, async () => {
        const began = performance.now();
        const { status } = await platform.fetch('shop', path);
        counted[`${Math.floor(status / 100)}xx`]!++;
        longest.set(path, Math.max(longest.get(path) ?? 0, performance.now() - began));
      }),
    ),
  );
  const total = Object.values(requests).reduce((sum, count) => sum + count, 0);
  await until(async () => {
    acknowledged = await takeUsage(control.deps, acknowledged);
    return (await analytics('')).totals.requests === total;
  });
});
after(async () => {
  await control.close();
  await platform.close();
});

test('status classes and failures are those that the client counted, by minute and by hour', async () => {
  assert.deepEqual(counted, { '2xx': 17, '3xx': 2, '4xx': 5, '5xx': 7, other: 0 });
  for (const range of ['15m', '1h', '24h', '7d']) {
    const { totals, series } = await analytics(`range=${range}`);
    assert.deepEqual([totals.requests, totals.failures, totals.status], [31, 7, counted], range);
    assert.equal(
      series.reduce((sum: number, item: Json) => sum + item.status['5xx'], 0),
      7,
      range,
    );
  }
  const { body } = await control.call('GET', `/projects/${projectId}/usage?groupBy=route&kind=http`);
  assert.deepEqual([body.totals.failures, body.totals.status], [7, counted]);
  const failing = body.items.find(({ route }: Json) => route === '/e500');
  assert.deepEqual([failing.failures, failing.status['5xx']], [4, 4]);
  assert.ok(failing.firstByteMs.p50 > 0);
});

test('routes are sorted by requests, errors and CPU', async () => {
  const { routes } = await analytics('order=requests');
  assert.deepEqual(routes.map(({ route, requests: count, failures }: Json) => [route, count, failures]).toSorted(), [
    ['/', 7, 0],
    ['/e500', 4, 4],
    ['/later', 2, 0],
    ['/missing', 5, 0],
    ['/slow', 6, 0],
    ['/throw', 3, 3],
    ['/users/*', 2, 0],
    ['/v2/moved', 2, 0],
  ]);
  assert.deepEqual(
    routes.map(({ requests: count }: Json) => count),
    [7, 6, 5, 4, 3, 2, 2, 2],
  );
  const byErrors = (await analytics('order=errors')).routes;
  assert.deepEqual([byErrors[0].route, byErrors[1].route], ['/e500', '/throw']);
  const { cpuBudgetMs, totals } = await analytics('order=cpu');
  assert.equal(cpuBudgetMs, 1000);
  assert.ok(totals.cpuMsMax > 0 && totals.cpuMsMax < totals.cpuMs, `${totals.cpuMsMax} of ${totals.cpuMs}`);
  const cpu = (await analytics('order=cpu')).routes.map(({ cpuMs }: Json) => cpuMs);
  assert.deepEqual(
    cpu,
    cpu.toSorted((a: number, b: number) => b - a),
  );
});

test('the route with the slowest first byte is first by latency', async () => {
  const timed = newId('project');
  await control.sql`
    INSERT INTO control.project (id, organization_id, name) VALUES (${timed}, ${control.organizationId}, 'timed')`;
  const row = (route: string, ms: number) =>
    usageRow('timed', { route, invocations: 1, firstByte: { buckets: [bucketOf(latencyScale, ms)], counts: [1] } });
  await control.sql.begin((tx) => addUsage(tx, [row('/', 20), row('/slow', 3000), row('/users/*', 100)]));
  const { body } = await control.call('GET', `/projects/${timed}/analytics?order=latency`);
  assert.deepEqual(
    body.routes.map(({ route }: Json) => route),
    ['/slow', '/users/*', '/'],
  );
});

test('latencies are those of the response: its head, and its end without the work after it', async () => {
  const [slow] = (await analytics('route=/slow')).routes;
  const error = 1.0626;
  for (const name of ['p50', 'p95', 'p99']) {
    assert.ok(slow.firstByteMs[name] * error >= FIRST_BYTE_MS, `${name}: ${slow.firstByteMs[name]}`);
    assert.ok(slow.answerMs[name] * error >= FIRST_BYTE_MS + BODY_MS, `${name}: ${slow.answerMs[name]}`);
    assert.ok(slow.answerMs[name] <= longest.get('/slow')! * error);
    assert.ok(slow.firstByteMs[name] <= slow.answerMs[name]);
  }
  const [later] = (await analytics('route=/later')).routes;
  assert.ok(later.answerMs.p99 <= longest.get('/later')! * error, `${later.answerMs.p99}`);
});

test('platform analytics prints the totals and a table of the routes', async () => {
  const api = createApi();
  const fetch = (request: Request) => api.fetch(request, control.deps);
  const server = await serveApi({ port: 0, host: '127.0.0.1', fetch });
  const shell = recordingShell(tmpdir(), {
    PLATFORM_HOME: tmpdir(),
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: control.owner.token,
  });
  const code = await run(['analytics', '--name', 'shop', '--since', '15m', '--order', 'errors'], shell);
  const wrong = await run(['analytics', '--name', 'shop', '--order', 'name'], shell);
  await server.close();
  assert.deepEqual([code, wrong], [0, 2], shell.errors.join('\n'));
  const [time, totals, first, second] = shell.output;
  assert.match(time!, /^\d{4}-\d\d-\d\d \d\d:\d\d to \d{4}/);
  assert.match(
    totals!,
    /^All deployments: 31 requests, 17 2xx, 2 3xx, 5 4xx, 7 5xx, 7 failed, time to first byte p50 /,
  );
  assert.deepEqual(
    [first!.split('\t').slice(0, 3), second!.split('\t').slice(0, 3)],
    [
      ['/e500', '4', '4'],
      ['/throw', '3', '3'],
    ],
  );
});

test('two deployments are compared over the same time', async () => {
  const firstByte = { buckets: [bucketOf(latencyScale, 3000)], counts: [10] };
  await control.sql.begin((tx) =>
    addUsage(tx, [
      usageRow('shop', {
        deployment: 'dnew',
        route: '/',
        invocations: 10,
        failures: 9,
        statuses: [1, 0, 0, 9, 0],
        firstByte,
      }),
    ]),
  );
  const { deployments } = await analytics('');
  const old = deployments.find(({ deploymentId }: Json) => deploymentId !== 'dnew').deploymentId;
  const { totals, compared, deploymentId } = await analytics(`deploymentId=${old}&compareTo=dnew`);
  assert.deepEqual([deploymentId, totals.requests, totals.failures], [old, 31, 7]);
  assert.deepEqual([compared.deploymentId, compared.totals.requests, compared.totals.failures], ['dnew', 10, 9]);
  assert.ok(compared.totals.firstByteMs.p99 > 2800 && compared.routes[0].route === '/');
  assert.deepEqual(deployments.map(({ requests: count, failures }: Json) => [count, failures]).toSorted(), [
    [10, 9],
    [31, 7],
  ]);
});

test('a batch is counted once, and one of an old minute only where its hour is', async () => {
  const { totals } = await analytics('');
  const hour = new Date(Date.now() - 3 * 86_400_000).toISOString().replace(/:.*/, ':00:00.000Z');
  const batch: UsageBatch = { id: 'old', rows: [usageRow('shop', { hour, minute: null, invocations: 5 })] };
  const ask = (() => Promise.resolve({ status: 200, body: batch })) as unknown as PrivatePort['ask'];
  const privatePort = { ask } as PrivatePort;
  for (let times = 0; times < 2; times++) await takeUsage({ ...control.deps, privatePort }, null);
  assert.equal((await analytics('')).totals.requests, totals.requests);
  assert.equal((await analytics('range=7d')).totals.requests, totals.requests + 5);
});

test('calls of bindings are told by resource, and are no invocations', async () => {
  const rule = { project_id: projectId, kind: 'error_rate', threshold: 1, window_seconds: 3600 } as const;
  const before = await Promise.all([
    analytics(''),
    control.call('GET', `/projects/${projectId}/usage?groupBy=kind`),
    measure(control.deps, control.sql, rule),
  ]);
  const answer = { buckets: [bucketOf(latencyScale, 20)], counts: [100] };
  const calls = { invocations: 100, failures: 60, answer };
  await control.sql.begin((tx) =>
    addUsage(tx, [
      usageRow('shop', { ...calls, kind: 'db', route: 'guests' }),
      usageRow('shop', { ...calls, kind: 'db', route: 'guests', deployment: 'd2' }),
      usageRow('shop', { ...calls, kind: 'db', route: 'others' }),
      usageRow('shop', { ...calls, kind: 'state', route: 'guests' }),
    ]),
  );
  for (const range of ['1h', '7d']) {
    const { totals, cpuBudgetMs } = await analytics(`range=${range}&kind=db&route=guests`);
    assert.deepEqual([totals.requests, totals.failures, totals.firstByteMs, cpuBudgetMs], [200, 120, null, 0]);
    assert.ok(totals.answerMs.p50 > 18 && totals.answerMs.p99 < 23, JSON.stringify(totals.answerMs));
  }
  const [{ totals }, { body: usage }, measured] = await Promise.all([
    analytics(''),
    control.call('GET', `/projects/${projectId}/usage?groupBy=kind`),
    measure(control.deps, control.sql, rule),
  ]);
  assert.deepEqual(
    [totals, usage.items, usage.totals, measured],
    [before[0].totals, before[1].body.items, before[1].body.totals, before[2]],
  );
});

test('events and calls of a preview’s resources are counted beside those of production', async () => {
  await control.sql.begin((tx) =>
    addUsage(tx, [
      usageRow('shop', { kind: 'queue', route: 'mail', invocations: 5 }),
      usageRow('shop', { kind: 'queue', route: 'mail~~login', deployment: 'd2', invocations: 3, failures: 1 }),
      usageRow('shop', { kind: 'queue', route: 'jobs~~login', deployment: 'd2', invocations: 2 }),
      usageRow('shop', { kind: 'db', route: 'orders~~login', deployment: 'd2', invocations: 7 }),
      usageRow('shop', { kind: 'queue', route: 'mail~~other', deployment: 'd3', invocations: 11 }),
    ]),
  );
  const counted = async (query: string) => {
    const { totals } = await analytics(query);
    return [totals.requests, totals.failures];
  };
  assert.deepEqual(await counted('kind=queue&route=mail'), [5, 0]);
  assert.deepEqual(await counted('kind=queue&route=mail&branch=login'), [3, 1]);
  assert.deepEqual(await counted('kind=queue&branch=login'), [5, 1]);
  assert.deepEqual(await counted('kind=db&route=orders&branch=login'), [7, 0]);
  assert.deepEqual(await counted('kind=queue&route=mail&branch=unknown'), [0, 0]);
  const { body } = await control.call('GET', `/projects/${projectId}/analytics?branch=login`);
  assert.match(body.message, /query\.branch: not for http; use query\.deploymentId/);
});

test('a time is refused that is negative, too long or given twice', async () => {
  for (const query of [
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2020-01-01T00:00:00Z',
    'range=1h&from=2026-01-02T00:00:00Z',
    'range=2h',
    'order=name',
  ])
    assert.equal((await control.call('GET', `/projects/${projectId}/analytics?${query}`)).status, 400, query);
});

// Operating a platform as it runs in production: its private port, its metrics, its log.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, globalAgent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodeFlags } from '#core/node-flags.mjs';
import { parseExposition, type Exposition } from '#test/setup/exposition-reader.ts';
import { send, type TestResponse } from '#test/setup/handler.ts';
import { PRIVATE_TOKEN, startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

const worker = `
export default {
  async fetch(request, env, ctx) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/throw') throw new Error('thrown on purpose');
    if (pathname === '/burn') { const until = Date.now() + 30; while (Date.now() < until); }
    if (pathname === '/log') console.log('a line of the worker');
    if (pathname === '/fetch') {
      const headers = searchParams.has('own') ? { traceparent: 'mine', tracestate: 'mine=1' } : {};
      return fetch(searchParams.get('url'), { headers });
    }
    return new Response('hello');
  },
  async queue(batch) { for (const message of batch.messages) message.ack(); },
};`;

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform(
    { shop: worker, other: worker },
    {
      HANDLER_PROCESSES: '2',
      HANDLER_SPARES: '0',
      LOG_LEVEL: 'debug',
      METRICS_DEPLOYMENTS_MAX: '1',
      WORKER_EGRESS_ALLOW: 'loopback',
      // Nobody asks here, and engines are to record to the end.
      LOG_UNASKED_MS: '3600000',
      // Tests send many requests at once.
      TRACE_PER_SECOND_MAX: '1000',
      DELIVERIES_MAX: '1',
    },
  );
});
after(() => platform.close());

const ask = (path: string): Promise<TestResponse> => platform.ask(path);

async function metrics(): Promise<Exposition> {
  const { status, headers, text } = await ask('/metrics');
  assert.deepEqual([status, headers['content-type']], [200, 'text/plain; version=0.0.4; charset=utf-8']);
  return parseExposition(text);
}

test('a variable that is no setting any more is said at the start, with the value that holds', async () => {
  const { level, msg } = await platform.logged((line) => String(line['msg']).startsWith('DELIVERIES_MAX'));
  assert.deepEqual([level, msg], [40, 'DELIVERIES_MAX is no longer a setting: its value is 1000']);
});

test('health says that it lives and is ready', async () => {
  const { status, json } = await ask('/_platform/health');
  assert.deepEqual([status, json()], [200, { live: true, ready: true }]);
});

test('the public port knows nothing of it', async () => {
  for (const path of ['/_platform/status', '/metrics', '/_platform/deliver']) {
    assert.equal((await send(platform.port, '127.0.0.1', path)).status, 404);
    assert.equal((await platform.fetch('shop', path)).text, 'hello');
  }
});

test('the status shows the engines, their clock and what they hold', async () => {
  await platform.fetch('shop');
  const { status, json } = await ask('/_platform/status');
  assert.equal(status, 200);
  const read = json() as Record<string, unknown> & {
    engines: (Record<string, unknown> & { status: Record<string, unknown> | null })[];
  };
  assert.deepEqual(
    [read['port'], read['node'], read['quarantine'], read['stopping']],
    [platform.port, process.version, [], false],
  );
  const serving = read.engines.filter(({ role }) => role === 'serving');
  assert.equal(serving.length, 2);
  for (const { status: own } of serving) {
    assert.equal(own!['cpuClock'], 'native thread clock');
    assert.equal(own!['listener'], 'node');
    assert.equal(own!['routes'], 2);
    assert.ok((own!['snapshotBytes'] as number) > 100_000 && (own!['rssBytes'] as number) > 10_000_000);
  }
  const live = serving.map(({ status: own }) => (own!['isolates'] as { live: number }).live);
  assert.ok(
    live.some((count) => count >= 1),
    String(live),
  );
  assert.ok(!JSON.stringify(read).includes('.http'), 'it names no socket');
});

test('invocations are counted by kind and outcome, over all engines', async () => {
  const before = await metrics();
  for (let i = 0; i < 20; i++) assert.equal((await platform.fetch('shop')).status, 200);
  for (let i = 0; i < 3; i++) assert.equal((await platform.fetch('shop', '/throw')).status, 500);
  assert.equal((await platform.fetch('nobody')).status, 404);
  const now = await metrics();
  const grown = (name: string, labels: Record<string, string>): number =>
    now.sum(name, labels) - before.sum(name, labels);
  assert.equal(grown('platform_invocations_total', { kind: 'http', outcome: 'ok' }), 20);
  assert.equal(grown('platform_invocations_total', { kind: 'http', outcome: 'worker_threw' }), 3);
  assert.equal(grown('platform_wall_milliseconds_count', { kind: 'http' }), 23);
  assert.equal(grown('platform_requests_without_worker_total', { by: 'no_route' }), 1);
  assert.equal(grown('platform_entry_requests_sum', {}), 23);
  assert.equal(now.sum('platform_engines', { role: 'serving', state: 'listening' }), 2);
  assert.equal(now.types['platform_wall_milliseconds'], 'histogram');
});

test('CPU is charged to its kind, and all of it is in the ledger of entries', async () => {
  const before = await metrics();
  await platform.fetch('shop', '/burn');
  const now = await metrics();
  const charged =
    now.sum('platform_cpu_milliseconds_total', { kind: 'http' }) -
    before.sum('platform_cpu_milliseconds_total', { kind: 'http' });
  const entered =
    now.sum('platform_entry_cpu_milliseconds_total') - before.sum('platform_entry_cpu_milliseconds_total');
  assert.ok(charged > 1 && entered >= charged - 0.01, `${charged} of ${entered}`);
});

test('deployments have rows of their own up to the bound, the rest is other', async () => {
  await platform.fetch('shop');
  await platform.fetch('other');
  const now = await metrics();
  const rows = new Set(now.samples.flatMap(({ labels }) => labels['deployment'] ?? []));
  assert.ok(rows.has('other') && rows.size === 2, [...rows].join());
  const sum = now.sum('platform_deployment_invocations_total');
  assert.equal(sum, now.sum('platform_invocations_total'));
});

test('a total never goes backwards when an engine dies', async () => {
  for (let i = 0; i < 10; i++) await platform.fetch('shop');
  const before = await metrics();
  const { engines } = await platform.state();
  process.kill(engines.find(({ role }) => role === 'serving')!.pid, 'SIGKILL');
  await platform.restarted();
  const now = await metrics();
  assert.ok(now.sum('platform_invocations_total') >= before.sum('platform_invocations_total'));
  assert.equal(now.value('platform_engine_deaths_total'), 1);
});

test('an engine that is replaced in order takes no count with it', async () => {
  for (let i = 0; i < 7; i++) await platform.fetch('other');
  const { engines } = await platform.state();
  const answered = (await metrics()).sum('platform_invocations_total', { outcome: 'ok' });
  const oldest = engines.find(({ role, state }) => role === 'serving' && state === 'listening')!;
  for (let i = 0; i < 5; i++) await platform.fetch('other');
  await platform.recycle(oldest.id);
  // It ends with its last idle connection, and that one is ours.
  globalAgent.destroy();
  await until(async () => (await platform.state()).engines.every(({ id }) => id !== oldest.id));
  assert.equal((await metrics()).sum('platform_invocations_total', { outcome: 'ok' }), answered + 5);
});

test('an event is delivered through the private port, and what became of it comes back', async () => {
  const { text } = await platform.fetch('shop');
  assert.equal(text, 'hello');
  const route = (await platform.logged((line) => line['project'] === 'shop' && line['outcome'] === 'ok'))[
    'deployment'
  ] as string;
  const message = { id: 'm1', payload: { n: 1 }, attempt: 1, timestamp: 0 };
  const delivered = await platform.ask('/_platform/deliver', {
    deployment: route,
    project: 'shop',
    kind: 'queue',
    event: { queueName: 'q', binding: 'Q', messages: [message] },
  });
  assert.equal(delivered.status, 200);
  const { outcome, result, cpuMs } = delivered.json() as { outcome: string; result: unknown; cpuMs: number };
  assert.deepEqual([outcome, result], ['ok', { acked: ['m1'], retry: [] }]);
  assert.ok(cpuMs > 0);
  const counted = await metrics();
  assert.equal(counted.sum('platform_invocations_total', { kind: 'queue', outcome: 'ok' }), 1);
  assert.equal(counted.value('platform_deliveries_total', { kind: 'queue', status: '200' }), 1);
  const line = await platform.logged((entry) => entry['kind'] === 'queue');
  assert.deepEqual([line['outcome'], line['method'], line['status']], ['ok', undefined, undefined]);
  const unknown = await platform.ask('/_platform/deliver', { deployment: 'd000000000000', kind: 'timer', event: {} });
  assert.deepEqual([unknown.status, (unknown.json() as { outcome: string }).outcome], [200, 'deployment_not_found']);
});

test('lines of a worker and the end of its invocation carry the same id and the trace of the request', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await platform.fetch('shop', '/log?secret=hunter2', {
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  });
  const line = await platform.logged((entry) => entry['msg'] === 'a line of the worker');
  const end = await platform.logged(
    (entry) => entry['msg'] === 'invocation' && entry['invocation'] === line['invocation'],
  );
  assert.deepEqual([line['level'], line['project'], line['traceId']], [30, 'shop', traceId]);
  assert.deepEqual(
    [end['level'], end['deployment'], end['kind'], end['outcome'], end['status'], end['path'], end['traceId']],
    [20, line['deployment'], 'http', 'ok', 200, '/log', traceId],
  );
  assert.ok((end['cpuMs'] as number) > 0 && (end['wallMs'] as number) > 0);
  assert.ok(!JSON.stringify(end).includes('hunter2'));
});

test('a failure of the worker is a warning', async () => {
  const { headers } = await platform.fetch('shop', '/throw');
  const id = headers['x-request-id'];
  const end = await platform.logged((entry) => entry['msg'] === 'invocation' && entry['invocation'] === id);
  assert.deepEqual([end['level'], end['status'], end['outcome']], [40, 500, 'worker_threw']);
  // Sampled, since a control plane may ask.
  assert.match(end['traceId'] as string, /^[0-9a-f]{32}$/);
});

test('a response says the id of its invocation, which the log has', async () => {
  const { headers } = await platform.fetch('shop', '/throw', { headers: { 'x-request-id': 'of-the-client' } });
  const id = String(headers['x-request-id']);
  assert.match(id, /^[0-9a-f]{12}-\d+$/);
  const thrown = await platform.logged(
    (entry) => entry['invocation'] === id && String(entry['msg']).startsWith('Uncaught'),
  );
  assert.equal(thrown['level'], 50);
  await platform.logged((entry) => entry['invocation'] === id && entry['outcome'] === 'worker_threw');
  const fine = await platform.fetch('shop', '/log');
  await platform.logged(
    (entry) => entry['invocation'] === fine.headers['x-request-id'] && entry['msg'] === 'a line of the worker',
  );
});

test('what a worker fetches continues the trace of its request', async (t) => {
  const seen: (string | string[] | undefined)[][] = [];
  const upstream = createServer((request, response) => {
    seen.push([request.headers['traceparent'], request.headers['tracestate']]);
    response.end('seen');
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.after(() => upstream.close());
  t.after(() => upstream.closeAllConnections());
  const { port } = upstream.address() as { port: number };
  const path = `/fetch?url=${encodeURIComponent(`http://127.0.0.1:${port}/`)}`;
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await platform.fetch('shop', path, { headers: { traceparent: parent, tracestate: 'vendor=1' } });
  await platform.fetch('shop', path);
  await platform.fetch('shop', path, { headers: { traceparent: '00-malformed-01', tracestate: 'vendor=1' } });
  await platform.fetch('shop', `${path}&own=1`, { headers: { traceparent: parent } });
  assert.match(String(seen[0]![0]), /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/);
  for (const [traceparent, tracestate] of seen.slice(1, 3)) {
    assert.match(String(traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    assert.equal(tracestate, undefined);
  }
  assert.deepEqual([seen[0]![1], seen[3]], ['vendor=1', ['mine', 'mine=1']]);
  assert.ok((await metrics()).sum('platform_host_calls_total', { name: 'fetch' }) >= 4);
  assert.ok((await metrics()).sum('platform_egress_bytes_total', { direction: 'in' }) > 100);
});

/** The code with which a supervisor ends that cannot start so, and what it says. */
async function refusedStart(
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  const child = fork(join(import.meta.dirname, '../../runtime/supervisor/main.ts'), {
    execArgv: [...nodeFlags],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      FS_PATH: folder,
      HANDLER_PORT: '0',
      HANDLER_PRIVATE_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  let output = '';
  child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  await rm(folder, { recursive: true, force: true });
  return { code, output };
}

test('it does not start with settings that would expose it or cannot be understood', async () => {
  const cases: [Record<string, string>, RegExp][] = [
    [{ HOST: '0.0.0.0' }, /PRIVATE_PORT_TOKEN is not set: set a token/],
    [{ LOG_LEVEL: 'loud' }, /LOG_LEVEL must be one of debug, info, warn, error, silent, but is \\"loud\\"/],
    [{ HANDLER_PRIVATE_PORT: '99999' }, /HANDLER_PRIVATE_PORT must be \\"off\\" or a port from 0 to 65535/],
    [
      { HANDLER_PRIVATE_PORT: String(platform.privatePort) },
      /Private port \d+ is taken: stop what listens there, or set HANDLER_PRIVATE_PORT/,
    ],
  ];
  for (const [environment, message] of cases) {
    const { code, output } = await refusedStart(environment);
    assert.equal(code, 78, output);
    assert.match(output, message);
  }
});

test('a slow reader of the private port does not hold up the next', async () => {
  const slow = httpRequest({
    host: '127.0.0.1',
    port: platform.privatePort,
    path: '/metrics',
    headers: { host: '127.0.0.1', authorization: `Bearer ${PRIVATE_TOKEN}` },
  });
  slow.on('error', () => {});
  slow.end();
  await once(slow, 'response');
  assert.equal((await ask('/_platform/health')).status, 200);
  slow.destroy();
});

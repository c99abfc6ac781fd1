// The private port over engines that are stand-ins: what each of them answers, and when, is the test's choice. The real
// ones are asked in test/integration/private-port.test.ts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { connect, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { figuresOf } from '#core/process/figures.ts';
import {
  openPrivatePort,
  type PrivatePort,
  type PrivatePortParts,
} from '#runtime/supervisor/private-port/private-port.ts';
import type { EngineState, QuarantineState, SupervisorState } from '#runtime/supervisor/private-port/state.ts';
import { parseExposition } from '#test/setup/exposition-reader.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const TOKEN = 'the-token-of-these-tests';

interface Setup {
  readonly engines?: EngineState[];
  readonly quarantine?: QuarantineState[];
  readonly services?: SupervisorState['services'];
  readonly token?: string;
  readonly isStopping?: () => boolean;
  readonly parts?: Partial<PrivatePortParts>;
}

async function open(
  t: TestContext,
  { engines = [], quarantine = [], services = [], token, isStopping = () => false, parts }: Setup,
): Promise<PrivatePort> {
  const port = await openPrivatePort({
    settings: { port: 0, host: '127.0.0.1', token: token ?? TOKEN },
    localToken: 'of the user who started it',
    usage: { take: () => ({ id: null, rows: [] }) },
    telemetry: { take: () => Promise.resolve({ id: null, records: '', lost: 0 }) },
    version: '1.2.3',
    state: () => ({
      port: 4001,
      startedAt: '2026-01-01T00:00:00.000Z',
      engines,
      quarantine,
      ledger: [],
      deaths: 2,
      lostRequests: 1,
      services,
    }),
    isStopping,
    metricsDeploymentsMax: 10,
    homes: (_deployment, places) => places,
    eventWallMs: 1000,
    bodyBytesMax: 1000,
    deliveriesMax: 2,
    ...parts,
  });
  t.after(() => port.close());
  return port;
}

let next = 0;

/** An engine that answers what the test wants; without a listener nobody listens on its socket. */
async function engine(
  t: TestContext,
  listener: RequestListener | null,
  given: Partial<EngineState> = {},
): Promise<EngineState> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  const socketPath = join(folder, 'http');
  if (listener !== null) {
    const server = createServer(listener).listen(socketPath);
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const id = ++next;
  return {
    id,
    pid: id,
    role: 'serving',
    state: 'listening',
    place: id,
    startedAt: '',
    restarts: 0,
    rssBytes: 1,
    parkedThreads: 0,
    load: 0,
    forwarded: 0,
    socketPath,
    ...given,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

async function ask(
  port: PrivatePort,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const sent = httpRequest({
    host: '127.0.0.1',
    port: port.port,
    path,
    method: options.method ?? 'GET',
    headers: { authorization: `Bearer ${TOKEN}`, ...options.headers },
    agent: false,
  });
  sent.end(options.body);
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  return { status: response.statusCode!, headers: response.headers, text };
}

const json = { 'content-type': 'application/json' };
const event = JSON.stringify({ deployment: 'd1', kind: 'queue', event: { messages: [] } });
const deliver = (port: PrivatePort, body: string = event, headers: Record<string, string> = json): Promise<Answer> =>
  ask(port, '/_platform/deliver', { method: 'POST', body, headers });
const codeOf = ({ text }: Answer): unknown => (JSON.parse(text) as { code?: unknown }).code;

test('it is ready when an engine listens and nobody asked it to stop', async (t) => {
  const engines: EngineState[] = [];
  let stopping = false;
  const port = await open(t, { engines, isStopping: () => stopping });
  const health = async (path: string): Promise<unknown> => {
    const { status, text } = await ask(port, `/_platform/health${path}`);
    return [status, JSON.parse(text)];
  };
  assert.deepEqual(await health(''), [503, { live: true, ready: false }]);
  assert.deepEqual(await health('/live'), [200, { live: true, ready: false }]);
  engines.push(await engine(t, null, { state: 'starting' }));
  assert.deepEqual(await health('/ready'), [503, { live: true, ready: false }]);
  engines.push(await engine(t, null));
  assert.deepEqual(await health('/ready'), [200, { live: true, ready: true }]);
  assert.deepEqual(await health(''), [200, { live: true, ready: true }]);
  stopping = true;
  assert.deepEqual(await health(''), [503, { live: true, ready: false }]);
  assert.deepEqual(await health('/live'), [200, { live: true, ready: false }]);
});

test('everything but health wants the token', async (t) => {
  const port = await open(t, { token: 'a-token-of-our-own' });
  assert.equal((await ask(port, '/_platform/health/live')).status, 200);
  for (const path of ['/_platform/status', '/metrics']) {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer wrong',
      'Basic a-token-of-our-own',
      'Bearer a-token-of-our-own2',
    ]) {
      const refused = await ask(port, path, { headers: { authorization } });
      assert.deepEqual(
        [refused.status, refused.headers['www-authenticate'], codeOf(refused)],
        [401, 'Bearer', 'private_port_unauthorized'],
      );
    }
    assert.equal((await ask(port, path, { headers: { authorization: 'Bearer a-token-of-our-own' } })).status, 200);
  }
  assert.equal((await deliver(port)).status, 401);
});

test('pages of the Web are refused', async (t) => {
  const port = await open(t, {});
  assert.equal((await ask(port, '/_platform/status', { headers: { origin: 'https://example.com' } })).status, 403);
  assert.equal((await deliver(port, event, { 'content-type': 'text/plain' })).status, 400);
});

test('an unknown path is 404 and a wrong method 405 with what is allowed', async (t) => {
  const port = await open(t, {});
  assert.deepEqual([(await ask(port, '/')).status, (await ask(port, '/constructor')).status], [404, 404]);
  const wrong = await ask(port, '/metrics', { method: 'DELETE' });
  assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'GET, HEAD']);
  assert.equal((await ask(port, '/_platform/deliver')).headers.allow, 'POST');
  const head = await ask(port, '/metrics', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
});

test('the status has what each engine says, and why one says nothing', async (t) => {
  const good = await engine(t, (_request, response) => void response.end('{"load":3}'));
  const broken = await engine(t, (_request, response) => void response.end('no json'));
  const silent = await engine(t, () => {});
  const gone = await engine(t, null);
  const port = await open(t, { engines: [good, broken, silent, gone] });
  const { status, text } = await ask(port, '/_platform/status');
  assert.equal(status, 200);
  const read = JSON.parse(text) as {
    version: string;
    deaths: number;
    engines: { status: unknown; problem?: string; socketPath?: string }[];
  };
  assert.deepEqual([read.version, read.deaths], ['1.2.3', 2]);
  assert.deepEqual(
    read.engines.map((entry) => entry.status),
    [{ load: 3 }, null, null, null],
  );
  assert.match(read.engines[1]!.problem!, /not JSON/);
  assert.match(read.engines[2]!.problem!, /within 1000 ms/);
  assert.match(read.engines[3]!.problem!, /ENOENT/);
  assert.equal(read.engines[0]!.socketPath, undefined);
});

test('metrics sum the engines, and keep what one counted that has gone', async (t) => {
  const report =
    (count: number): RequestListener =>
    (_request, response) =>
      void response.end(
        JSON.stringify({
          counters: [['platform_entries_total', '', count]],
          gauges: [['platform_parked_threads', '', 1]],
          deployments: [],
        }),
      );
  const engines = [
    await engine(t, report(3)),
    await engine(t, report(4)),
    await engine(t, (_request, response) => void response.end('{}')),
  ];
  const port = await open(t, { engines });
  const first = parseExposition((await ask(port, '/metrics')).text);
  assert.equal(first.value('platform_entries_total'), 7);
  assert.equal(first.sum('platform_parked_threads'), 2);
  assert.equal(first.value('platform_engines', { role: 'serving', state: 'listening' }), 3);
  assert.equal(first.value('platform_engine_deaths_total'), 2);
  engines.shift();
  const { headers, text } = await ask(port, '/metrics');
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  const second = parseExposition(text);
  assert.equal(second.value('platform_entries_total'), 7);
  assert.equal(second.sum('platform_parked_threads'), 1);
});

test('the processes beside engines are up or not, with their memory and CPU', async (t) => {
  const services = [
    { name: 'broker', pid: process.pid, state: 'ready', restarts: 2 },
    { name: 'builder', pid: null, state: 'stopped', restarts: 0 },
  ] as const;
  const metrics = parseExposition((await ask(await open(t, { services }), '/metrics')).text);
  assert.equal(metrics.value('platform_service_up', { service: 'broker' }), 1);
  assert.equal(metrics.value('platform_service_restarts_total', { service: 'broker' }), 2);
  assert.ok(metrics.value('platform_service_resident_bytes', { service: 'broker' })! > 1024 * 1024);
  assert.ok(metrics.value('platform_service_cpu_seconds_total', { service: 'broker' })! > 0);
  assert.equal(metrics.value('platform_service_up', { service: 'builder' }), 0);
  assert.equal(metrics.value('platform_service_resident_bytes', { service: 'builder' }), undefined);
});

test('what a process tells of itself is among the metrics, of the status it is no part, and no name is made up', async (t) => {
  const figures = figuresOf({
    type: 'figures',
    figures: [
      ['platform_service_heap_bytes', {}, 1024],
      ['platform_events_waiting', { kind: 'queue', state: 'due' }, 3],
      ['platform_made_up', {}, 1],
      ['platform_service_heap_bytes', { 'a="': 'x' }, 1],
      ['platform_service_heap_bytes', {}, 'many'],
      null,
    ],
  })!;
  assert.equal(figuresOf({ type: 'ready', figures: [] }), null);
  const services = [{ name: 'api', pid: null, state: 'ready', restarts: 0, figures }] as const;
  const port = await open(t, { services });
  const metrics = parseExposition((await ask(port, '/metrics')).text);
  assert.equal(metrics.value('platform_service_heap_bytes', { service: 'api' }), 1024);
  assert.equal(metrics.value('platform_events_waiting', { kind: 'queue', state: 'due' }), 3);
  assert.equal(metrics.sum('platform_made_up'), 0);
  assert.doesNotMatch((await ask(port, '/_platform/status')).text, /figures|heap_bytes/);
});

test("Caddy's own metrics are handed on, and there are none where it does not run", async (t) => {
  let asked: unknown = null;
  const caddy = await engine(t, (request, response) => {
    asked = [request.url, request.headers.host];
    response.end('caddy_http_requests_in_flight 1\n');
  });
  const port = await open(t, { parts: { edgeMetricsSocket: () => caddy.socketPath } });
  assert.equal((await ask(port, '/metrics/edge')).text, 'caddy_http_requests_in_flight 1\n');
  assert.deepEqual(asked, ['/metrics', 'edge']);
  const { status } = await ask(port, '/metrics/edge', { headers: { authorization: 'Bearer wrong' } });
  assert.equal(status, 401);
  assert.equal((await ask(await open(t, {}), '/metrics/edge')).status, 404);
});

test('the last word of an engine stands, whatever it answered before', async (t) => {
  const report = (count: number): object => ({
    counters: [['platform_entries_total', '', count]],
    gauges: [],
    deployments: [],
  });
  const ending = await engine(t, (_request, response) => void response.end(JSON.stringify(report(3))));
  const engines = [ending];
  const port = await open(t, { engines });
  const entries = async (): Promise<unknown> =>
    parseExposition((await ask(port, '/metrics')).text).value('platform_entries_total');
  assert.equal(await entries(), 3);
  port.keepLastReport(ending.id, report(5));
  assert.equal(await entries(), 5);
  engines.pop();
  assert.equal(await entries(), 5);
  port.keepLastReport(ending.id, report(7));
  assert.equal(await entries(), 5);
});

test('a delivery goes to a home of the deployment, and its answer comes back', async (t) => {
  const seen: string[] = [];
  const named = (name: string): RequestListener =>
    async function (request, response) {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
      // On a slow machine it is asked for its metrics too.
      if (request.method === 'POST') seen.push(`${name} ${request.method} ${request.url} ${body}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"outcome":"ok","result":{"acked":[]}}');
    };
  const engines = [await engine(t, named('first'), { place: 0 }), await engine(t, named('second'), { place: 1 })];
  const homes = (deployment: string, places: readonly number[]): number[] =>
    deployment === 'shop/d1' ? [...places].reverse() : [...places];
  const port = await open(t, { engines, parts: { homes } });
  const answer = await deliver(port);
  assert.deepEqual([answer.status, answer.text], [200, '{"outcome":"ok","result":{"acked":[]}}']);
  await deliver(port, JSON.stringify({ ...(JSON.parse(event) as object), project: 'shop' }));
  assert.deepEqual(
    seen.map((line) => line.split(' ').slice(0, 3).join(' ')),
    ['first POST /_platform/deliver', 'second POST /_platform/deliver'],
  );
  assert.ok(seen[0]!.endsWith(' 15\n{"messages":[]}'));
  const metrics = parseExposition((await ask(port, '/metrics')).text);
  assert.equal(metrics.value('platform_deliveries_total', { kind: 'queue', status: '200' }), 2);
});

test('what the broker delivers passes through unread, by its headers', async (t) => {
  const seen: unknown[] = [];
  const only = await engine(
    t,
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { 'platform-deployment': deployment, 'platform-kind': kind } = request.headers;
      if (request.method === 'POST') seen.push(deployment, kind, Buffer.concat(chunks).toString());
      response.end('{}');
    },
    { place: 0 },
  );
  const port = await open(t, { engines: [only] });
  const headers = {
    'content-type': 'application/vnd.platform.event',
    'platform-deployment': 'd1',
    'platform-project': 'shop',
    'platform-kind': 'queue',
  };
  assert.equal((await deliver(port, '2,5\n{}no JS', headers)).status, 200);
  assert.deepEqual(seen, ['d1', 'queue', '2,5\n{}no JS']);
  const refused = await deliver(port, '2\n{}', { ...headers, 'platform-kind': 'http' });
  assert.deepEqual([refused.status, codeOf(refused)], [400, 'bad_request']);
});

test('an engine that was not reached is replaced by the next, one that broke off is not', async (t) => {
  let calls = 0;
  const good = await engine(t, (_request, response) => void response.end(`{"calls":${++calls}}`));
  const cutting = await engine(t, (request) => request.socket.destroy());
  const gone = await engine(t, null);
  assert.equal((await deliver(await open(t, { engines: [gone, good] }))).text, '{"calls":1}');
  const lost = await deliver(await open(t, { engines: [cutting, good] }));
  assert.deepEqual([lost.status, codeOf(lost), lost.headers['retry-after'], calls], [503, 'engine_lost', '1', 1]);
  const none = await deliver(await open(t, { engines: [gone] }));
  assert.deepEqual([none.status, codeOf(none)], [503, 'no_engine']);
});

test('a deployment that is quarantined gets its own engine, or has to wait', async (t) => {
  const good = await engine(t, (_request, response) => void response.end('"anybody"'));
  const own = await engine(t, (_request, response) => void response.end('"own"'), {
    role: 'quarantine',
    place: 'shop/d1',
  });
  const kept = (until: string | null): QuarantineState[] => [
    { deployment: 'shop/d1', since: '', strikes: 2, until, reason: 'it kills engines' },
  ];
  assert.equal((await deliver(await open(t, { engines: [good, own], quarantine: kept(null) }))).text, '"own"');
  const later = new Date(Date.now() + 30_000).toISOString();
  for (const quarantine of [kept(later), kept(null)]) {
    const refused = await deliver(await open(t, { engines: [good], quarantine }));
    assert.deepEqual([refused.status, codeOf(refused)], [503, 'deployment_quarantined']);
  }
});

test('deliveries are bounded in size and number', async (t) => {
  const waiting: (() => void)[] = [];
  const slow = await engine(t, (_request, response) => void waiting.push(() => response.end('{}')));
  const port = await open(t, { engines: [slow] });
  const large = await deliver(port, JSON.stringify({ deployment: 'd1', kind: 'queue', event: 'x'.repeat(1000) }));
  assert.deepEqual([large.status, codeOf(large)], [413, 'body_too_large']);
  const running = [deliver(port), deliver(port)];
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const shed = await deliver(port);
  assert.deepEqual([shed.status, codeOf(shed), shed.headers['retry-after']], [503, 'deliveries_overloaded', '1']);
  for (const answer of waiting) answer();
  assert.deepEqual(
    (await Promise.all(running)).map(({ status }) => status),
    [200, 200],
  );
});

test('whatever a delivery holds, it is answered and never reaches an engine malformed', async (t) => {
  const bodies: string[] = [];
  const eager = await engine(t, async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
    // On a slow machine it is asked for its metrics too.
    if (request.method === 'POST') bodies.push(body);
    response.end('{}');
  });
  const port = await open(t, { engines: [eager] });
  const random = createSeededRandom();
  const pieces = [
    '{',
    '}',
    '"deployment":',
    '"d1"',
    ',',
    '"kind":',
    '"queue"',
    '"http"',
    '"event":',
    'null',
    '1',
    '[',
    ']',
    '\\',
    '\u0000',
    'é',
    '"',
  ];
  for (let run = 0; run < 200; run++) {
    const { status } = await deliver(port, random.text(pieces, 12));
    assert.ok(status === 400 || status === 200, `seed ${random.seed}: ${status}`);
  }
  for (const body of bodies) {
    const { deployment, kind, event: given } = JSON.parse(body) as Record<string, unknown>;
    assert.ok(
      typeof deployment === 'string' && kind === 'queue' && given !== undefined,
      `seed ${random.seed}: ${body}`,
    );
  }
});

test('raw bytes on the socket end with an answer or a cut, and the port goes on', async (t) => {
  const port = await open(t, {});
  const random = createSeededRandom();
  const pieces = [
    'GET ',
    'POST ',
    '/metrics',
    '/_platform/status',
    ' HTTP/1.1\r\n',
    'host: localhost\r\n',
    `authorization: Bearer ${TOKEN}\r\n`,
    '\r\n',
    '\u0000',
    'content-length: 5\r\n',
    'x'.repeat(50),
  ];
  for (let run = 0; run < 100; run++) {
    const socket = connect(port.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.end(random.text(pieces, 8));
    socket.resume();
    await once(socket, 'close');
  }
  assert.equal((await ask(port, '/_platform/health/live')).status, 200, `seed ${random.seed}`);
});

test('a port that is taken is told by the system’s own error', async (t) => {
  const taken = createSocketServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  await assert.rejects(open(t, { parts: { settings: { port, host: '127.0.0.1', token: TOKEN } } }), {
    code: 'EADDRINUSE',
  });
});

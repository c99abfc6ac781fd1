// What the private port tells of engines and of the processes beside them.
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { figuresOf } from '#core/process/figures.ts';
import { parseExposition } from '#test/setup/exposition-reader.ts';
import { ask, openEngine, openPort } from '#test/setup/private-port.ts';

test('the status has what each engine says, and why one says nothing', async (t) => {
  const good = await openEngine(t, (_request, response) => void response.end('{"load":3}'));
  const broken = await openEngine(t, (_request, response) => void response.end('no json'));
  const silent = await openEngine(t, () => {});
  const gone = await openEngine(t, null);
  const port = await openPort(t, { engines: [good, broken, silent, gone] });
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
          gauges: [['platform_lost_threads', '', 1]],
          deployments: [],
        }),
      );
  const engines = [
    await openEngine(t, report(3)),
    await openEngine(t, report(4)),
    await openEngine(t, (_request, response) => void response.end('{}')),
  ];
  const port = await openPort(t, { engines });
  const first = parseExposition((await ask(port, '/metrics')).text);
  assert.equal(first.value('platform_entries_total'), 7);
  assert.equal(first.sum('platform_lost_threads'), 2);
  assert.equal(first.value('platform_engines', { role: 'serving', state: 'listening' }), 3);
  assert.equal(first.value('platform_engine_deaths_total'), 2);
  engines.shift();
  const { headers, text } = await ask(port, '/metrics');
  assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  const second = parseExposition(text);
  assert.equal(second.value('platform_entries_total'), 7);
  assert.equal(second.sum('platform_lost_threads'), 1);
});

test('the processes beside engines are up or not, with their memory and CPU', async (t) => {
  const services = [
    { name: 'broker', pid: process.pid, state: 'ready', restarts: 2 },
    { name: 'builder', pid: null, state: 'stopped', restarts: 0 },
  ] as const;
  const metrics = parseExposition((await ask(await openPort(t, { services }), '/metrics')).text);
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
  const port = await openPort(t, { services });
  const metrics = parseExposition((await ask(port, '/metrics')).text);
  assert.equal(metrics.value('platform_service_heap_bytes', { service: 'api' }), 1024);
  assert.equal(metrics.value('platform_events_waiting', { kind: 'queue', state: 'due' }), 3);
  assert.equal(metrics.sum('platform_made_up'), 0);
  assert.doesNotMatch((await ask(port, '/_platform/status')).text, /figures|heap_bytes/);
});

test("Caddy's own metrics are handed on, and there are none where it does not run", async (t) => {
  let asked: unknown = null;
  const caddy = await openEngine(t, (request, response) => {
    asked = [request.url, request.headers.host];
    response.end('caddy_http_requests_in_flight 1\n');
  });
  const port = await openPort(t, { deps: { edgeMetricsSocket: () => caddy.socketPath } });
  assert.equal((await ask(port, '/metrics/edge')).text, 'caddy_http_requests_in_flight 1\n');
  assert.deepEqual(asked, ['/metrics', 'edge']);
  const { status } = await ask(port, '/metrics/edge', { headers: { authorization: 'Bearer wrong' } });
  assert.equal(status, 401);
  assert.equal((await ask(await openPort(t, {}), '/metrics/edge')).status, 404);
});

test('the last word of an engine stands, whatever it answered before', async (t) => {
  const report = (count: number): object => ({
    counters: [['platform_entries_total', '', count]],
    gauges: [],
    deployments: [],
  });
  const ending = await openEngine(t, (_request, response) => void response.end(JSON.stringify(report(3))));
  const engines = [ending];
  const port = await openPort(t, { engines });
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

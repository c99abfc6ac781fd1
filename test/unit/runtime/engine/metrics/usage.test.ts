// Usage of deployments as an engine counts it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latencyOf } from '#core/histogram.ts';
import type { InvocationKind } from '#core/plans.ts';
import { EngineUsage } from '#runtime/engine/metrics/usage.ts';

const invocation = (uid: string, cpuMs: number, more: { hostCpuMs?: number; status?: number } = {}) => ({
  uid,
  kind: 'http' as InvocationKind,
  status: 200,
  cpuMs,
  hostCpuMs: 0,
  ...more,
});
const message = (uid: string, cpuMs: number) => ({ ...invocation(uid, cpuMs, { status: 0 }), kind: 'queue' as const });

test('what was taken is counted no more, and what nobody used is not there', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  shop.ended(invocation('i1', 1, { hostCpuMs: 0.5 }), '/a?x', false, 1.5, 1, 1);
  shop.ended(invocation('i2', 3, { status: 500 }), '/a', true, 3, 1, 1);
  shop.ended(invocation('i3', 2), '/a', false, 2, 1, 1);
  // A WebSocket that has had several budgets counts with its last.
  shop.ended(message('i4', 200), '', false, 2, -1, 1);
  shop.served(304);
  const rows = engine.take();
  assert.deepEqual(
    rows.map(({ kind, route, invocations, failures, cpuMs, hostCpuMs, cpuMsMax, costliest }) => [
      kind,
      route,
      invocations,
      failures,
      cpuMs,
      hostCpuMs,
      cpuMsMax,
      costliest.map(({ id, cpuMs: cpu, isFailure }) => `${id} ${cpu} ${isFailure}`).join(),
    ]),
    [
      ['http', '/a', 3, 1, 6, 0.5, 3, 'i2 3 true'],
      ['queue', '', 1, 0, 200, 0, 2, 'i4 2 false'],
      ['http', '(files)', 1, 0, 0, 0, 0, ''],
    ],
  );
  const [{ cpuCounts }] = rows as [(typeof rows)[number]];
  assert.equal(
    cpuCounts.reduce((sum, count) => sum + count, 0),
    3,
  );
  assert.deepEqual(engine.take(), []);
  shop.ended(invocation('i5', 1), '/a', false, 1, 1, 1);
  const [again] = engine.take();
  assert.deepEqual([again!.invocations, again!.costliest[0]!.id], [1, 'i5']);
});

test('events are counted by the name of their queue, timer, schedule or workflow, a preview’s with its branch', () => {
  const engine = new EngineUsage();
  const [live, preview] = [engine.open('shop', 'd1'), engine.open('shop', 'd2', 'login')];
  const orders = { ...invocation('i', 1, { status: 0 }), kind: 'workflow' as const };
  for (const shop of [live, preview]) {
    shop.ended(message('m', 1), 'mail', false, 1, -1, 1);
    shop.ended(message('m', 1), 'mail', true, 1, -1, 1);
    shop.ended(message('m', 1), 'jobs', false, 1, -1, 1);
    shop.ended(orders, 'mail', false, 1, -1, 1);
    shop.ended(invocation('i', 1), '/mail', false, 1, 1, 1);
  }
  assert.deepEqual(
    engine
      .take()
      .map(({ deployment, kind, route, invocations, failures }) => [deployment, kind, route, invocations, failures]),
    [
      ['d1', 'queue', 'mail', 2, 1],
      ['d1', 'queue', 'jobs', 1, 0],
      ['d1', 'workflow', 'mail', 1, 0],
      ['d1', 'http', '/mail', 1, 0],
      ['d2', 'queue', 'mail~~login', 2, 1],
      ['d2', 'queue', 'jobs~~login', 1, 0],
      ['d2', 'workflow', 'mail~~login', 1, 0],
      ['d2', 'http', '/mail', 1, 0],
    ],
  );
});

test('a deployment has so many names of events', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  for (let index = 0; index < 1000; index++) shop.ended(message('m', 1), `queue-${index}`, false, 1, -1, 1);
  const rows = engine.take();
  assert.deepEqual([rows.length, rows.at(-1)!.route, rows.at(-1)!.invocations], [201, '*', 800]);
});

test('a deployment has so many routes, whatever its visitors ask for', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const one of letters)
    for (const other of letters) shop.ended(invocation('i', 1), `/${one}/${other}`, false, 1, 1, 1);
  const rows = engine.take();
  assert.equal(rows.length, 51);
  assert.equal(
    rows.reduce((sum, { invocations }) => sum + invocations, 0),
    26 * 26,
  );
});

test('code that goes on after its request is charged to that route, and what no request began to a row of its own', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  shop.ended(invocation('i1', 6000), '/attack', true, 6000, 1, 1);
  engine.take();
  shop.burnt('http', '/attack?x=1', 250);
  shop.burnt('http', '', 3);
  shop.burnt('queue', '', 4);
  assert.deepEqual(
    engine.take().map(({ kind, route, invocations, cpuMs, costliest }) => [kind, route, invocations, cpuMs, costliest]),
    [
      ['http', '/attack', 0, 250, []],
      ['http', '(no request)', 0, 3, []],
      ['queue', '', 0, 4, []],
    ],
  );
});

test('requests are counted by status class, events are not', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  for (const status of [200, 204, 301, 404, 500, 503, 599, 101, 0, 999])
    shop.ended(invocation('i', 1, { status }), '/a', false, 1, 1, 1);
  shop.ended(message('m', 1), '', false, 1, -1, 1);
  for (const status of [200, 404, 500]) shop.served(status);
  assert.deepEqual(
    engine.take().map(({ route, statuses, failures }) => [route, statuses, failures]),
    [
      ['/a', [2, 1, 1, 3, 3], 0],
      ['', [0, 0, 0, 0, 0], 0],
      ['(files)', [1, 0, 1, 1, 0], 1],
    ],
  );
});

test('latencies are counted where there are any, and a report begins with empty buckets', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  for (const ms of [100, 100, 100, 1000]) shop.ended(invocation('i', 1), '/a', false, 1, ms, 2 * ms);
  shop.ended(invocation('i', 1, { status: 101 }), '/socket', false, 1, 10, -1);
  const [route, socket] = engine.take();
  const [firstByte, answer] = [latencyOf(route!.firstByte)!, latencyOf(route!.answer)!];
  assert.deepEqual([Math.round(firstByte.p50 / 10), Math.round(firstByte.p99 / 100)], [10, 10]);
  assert.deepEqual([Math.round(answer.p50 / 20), Math.round(answer.p99 / 200)], [10, 10]);
  assert.deepEqual([socket!.firstByte.counts, socket!.answer.counts], [[1], []]);
  shop.ended(invocation('i', 1), '/b', false, 1, 5, 5);
  const [next] = engine.take();
  assert.deepEqual([next!.firstByte.counts, next!.answer.counts], [[1], [1]]);
});

test('calls of bindings are counted by resource, with failures and durations, beside invocations', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  const [guests, kept] = [shop.calls('db', 'guests'), shop.calls('state', 'kept~~login')];
  for (const ms of [10, 10, 1000]) guests.ended(ms, ms === 1000);
  kept.ended(0.01, false);
  const rows = engine.take();
  assert.deepEqual(
    rows.map(({ kind, route, invocations, failures, cpuMs, cpuCounts, statuses }) => [
      kind,
      route,
      invocations,
      failures,
      cpuMs,
      cpuCounts,
      statuses,
    ]),
    [
      ['db', 'guests', 3, 1, 0, [], [0, 0, 0, 0, 0]],
      ['state', 'kept~~login', 1, 0, 0, [], [0, 0, 0, 0, 0]],
    ],
  );
  const { p50, p99 } = latencyOf(rows[0]!.answer)!;
  assert.deepEqual([Math.round(p50 / 10), Math.round(p99 / 100)], [1, 10]);
  assert.deepEqual([rows[0]!.firstByte.counts, rows[1]!.answer.counts], [[], [1]]);
  assert.deepEqual(engine.take(), []);
});

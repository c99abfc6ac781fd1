// Usage of deployments as an engine counts it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EngineUsage, routeOf } from '#runtime/engine/metrics/usage.ts';

test('a route is the first two names of a path', () => {
  for (const [path, route] of [
    ['/', '/'],
    ['/about', '/about'],
    ['/about/', '/about'],
    ['//about', '/about'],
    ['/api/users', '/api/users'],
    ['/api/users/7', '/api/users/*'],
    ['/api/users/seven/letters', '/api/users/*'],
    ['/posts/8f14e45f', '/posts/*'],
    ['/posts/8f14e45f/edit', '/posts/*'],
    ['/v1/users', '/v1/users'],
    ['/7/8', '/*/*'],
    ['/%00', '/*'],
    [`/${'x'.repeat(50)}`, '/*'],
  ] as const)
    assert.equal(routeOf(path), route, path);
});

const invocation = (uid: string) => ({ uid });

test('what was taken is counted no more, and what nobody used is not there', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  shop.ended('http', '/a?x', false, 1, 0.5, 1.5, invocation('i1'));
  shop.ended('http', '/a', true, 3, 0, 3, invocation('i2'));
  shop.ended('http', '/a', false, 2, 0, 2, invocation('i3'));
  // A WebSocket that has had several budgets counts with its last.
  shop.ended('queue', '', false, 200, 0, 2, invocation('i4'));
  shop.served();
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
  shop.ended('http', '/a', false, 1, 0, 1, invocation('i5'));
  const [again] = engine.take();
  assert.deepEqual([again!.invocations, again!.costliest[0]!.id], [1, 'i5']);
});

test('a deployment has so many routes, whatever its visitors ask for', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const one of letters)
    for (const other of letters) shop.ended('http', `/${one}/${other}`, false, 1, 0, 1, invocation('i'));
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
  shop.ended('http', '/attack', true, 6000, 0, 6000, invocation('i1'));
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

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

test('what was taken is counted no more, and what nobody used is not there', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  shop.ended('http', '/a?x', false, 1, 0.5);
  shop.ended('http', '/a', true, 3, 0);
  shop.ended('queue', '', false, 2, 0);
  shop.served();
  const row = { project: 'shop', deployment: 'd1', failures: 0, cpuMs: 0, hostCpuMs: 0, cpuMsMax: 0 };
  assert.deepEqual(engine.take(), [
    { ...row, kind: 'http', route: '/a', invocations: 2, failures: 1, cpuMs: 4, hostCpuMs: 0.5, cpuMsMax: 3 },
    { ...row, kind: 'queue', route: '', invocations: 1, cpuMs: 2, cpuMsMax: 2 },
    { ...row, kind: 'http', route: '(files)', invocations: 1 },
  ]);
  assert.deepEqual(engine.take(), []);
  shop.ended('http', '/a', false, 1, 0);
  assert.equal(engine.take()[0]!.invocations, 1);
});

test('a deployment has so many routes, whatever its visitors ask for', () => {
  const engine = new EngineUsage();
  const shop = engine.open('shop', 'd1');
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  for (const one of letters) for (const other of letters) shop.ended('http', `/${one}/${other}`, false, 1, 0);
  const rows = engine.take();
  assert.equal(rows.length, 51);
  assert.equal(
    rows.reduce((sum, { invocations }) => sum + invocations, 0),
    26 * 26,
  );
});

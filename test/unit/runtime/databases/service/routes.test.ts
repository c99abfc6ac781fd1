// Which process owns a database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Routes } from '#runtime/databases/service/routes.ts';

test('all databases of a project are at home in the same process', () => {
  const routes = new Routes(4, 2, 1000);
  assert.deepEqual(routes.homeOf('shop/main'), routes.homeOf('shop/other'));
  const indices = new Set(Array.from({ length: 50 }, (_, index) => routes.homeOf(`project${index}/main`).index));
  assert.deepEqual([...indices].toSorted(), [0, 1, 2, 3]);
});

test('a database that overran has a process of its own for a while', () => {
  const routes = new Routes(2, 2, 1000);
  const home = routes.homeOf('shop/main');
  routes.suspect('shop/main', 0);
  assert.deepEqual(routes.homeOf('shop/main'), { kind: 'own', index: 0 });
  assert.deepEqual(routes.homeOf('shop/other'), home);
  assert.deepEqual(routes.release(1000), []);
  routes.suspect('shop/main', 900);
  assert.deepEqual(routes.release(1500), []);
  assert.deepEqual(routes.release(1901), [0]);
  assert.deepEqual(routes.homeOf('shop/main'), home);
});

test('suspects share processes when there are too many of them', () => {
  const routes = new Routes(2, 2, 1000);
  for (const name of ['a/x', 'b/x', 'c/x']) routes.suspect(name, 0);
  assert.deepEqual(
    ['a/x', 'b/x', 'c/x'].map((name) => routes.homeOf(name).index),
    [0, 1, 0],
  );
});

test('a database that was in flight at two deaths is a suspect', () => {
  const routes = new Routes(1, 2, 1000);
  routes.died(['a/x', 'b/x'], 0);
  assert.equal(routes.homeOf('a/x').kind, 'shared');
  routes.died(['a/x'], 500);
  assert.equal(routes.homeOf('a/x').kind, 'own');
  routes.died(['b/x'], 5000);
  assert.equal(routes.homeOf('b/x').kind, 'shared');
});

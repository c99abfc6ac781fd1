import assert from 'node:assert/strict';
import { test } from 'node:test';
import { homes } from '#runtime/engine/cluster/homes.ts';

const deployments = Array.from(
  { length: 1000 },
  (_, index) => `project-${index % 10}/d${String(index).padStart(12, '0')}`,
);

test('the homes of a deployment do not depend on the order of the engines', () => {
  assert.deepEqual(homes('shop/d000000000001', [0, 1, 2, 3], 4), homes('shop/d000000000001', [3, 1, 0, 2], 4));
});

test('deployments spread evenly over engines', () => {
  const counts = [0, 0, 0, 0];
  for (const deployment of deployments) counts[homes(deployment, [0, 1, 2, 3], 1)[0] as number]! += 1;
  for (const count of counts) assert.ok(count > 200 && count < 300, counts.join(' '));
});

test('an engine that goes moves its own deployments only, and each to its second home', () => {
  for (const deployment of deployments) {
    const [first, second] = homes(deployment, [0, 1, 2, 3], 2);
    const [now] = homes(
      deployment,
      [0, 1, 2, 3].filter((place) => place !== 2),
      1,
    );
    assert.equal(now, first === 2 ? second : first);
  }
});

test('there are no more homes than engines', () => {
  assert.deepEqual(homes('shop/d000000000001', [7], 3), [7]);
  assert.deepEqual(homes('shop/d000000000001', [], 1), []);
});

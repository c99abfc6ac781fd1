import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteBudget } from '#runtime/stores/byte-budget.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

test('over the bound only the eldest upload of a namespace goes on, until another gives back', async () => {
  const budget = new ByteBudget(100);
  const [elder, younger, stranger] = [budget.open('a'), budget.open('a'), budget.open('b')];
  await elder.take(60);
  await younger.take(40);
  await stranger.take(100);
  const order: string[] = [];
  const waiting = younger.take(10).then(() => order.push('younger'));
  await elder.take(50).then(() => order.push('elder'));
  assert.equal(budget.held('a'), 150);
  elder.give(60);
  await waiting;
  assert.deepEqual(order, ['elder', 'younger']);
  assert.equal(budget.held('a'), 100);
});

test('an upload that waits goes on when it becomes the eldest, and one that is closed waits no longer', async () => {
  const budget = new ByteBudget(10);
  const [first, second, third] = [budget.open('a'), budget.open('a'), budget.open('a')];
  await first.take(10);
  const [waiting, closed] = [second.take(50), third.take(1)];
  third.close();
  await assert.rejects(closed, { message: 'The upload has ended' });
  await assert.rejects(third.take(1), { message: 'The upload has ended' });
  first.close();
  await waiting;
  assert.equal(budget.held('a'), 50);
  second.close();
  assert.equal(budget.held('a'), 0);
});

test('uploads of any sizes all come to their end, within the bound and one upload', async () => {
  const random = createSeededRandom();
  const budget = new ByteBudget(1000);
  let most = 0;
  const upload = async (): Promise<void> => {
    const share = budget.open('a');
    let held = 0;
    for (let pieces = 1 + random.below(10); pieces > 0; pieces--) {
      const bytes = 1 + random.below(100);
      await share.take(bytes);
      held += bytes;
      most = Math.max(most, budget.held('a'));
      await new Promise((resolve) => setImmediate(resolve));
      if (random.below(3) === 0) {
        share.give(held);
        held = 0;
      }
    }
    share.close();
  };
  await Promise.all(Array.from({ length: 100 }, upload));
  assert.equal(budget.held('a'), 0);
  assert.ok(most <= 1000 + 1000, `${most} bytes, FUZZ_SEED=${random.seed}`);
});

// How many bytes of events a broker holds at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ByteGate, type Hold } from '#runtime/broker/delivery/byte-gate.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

test('what does not fit waits in its order, and what is kept smaller than announced makes room', async () => {
  const gate = new ByteGate(100);
  const order: string[] = [];
  const take = (name: string, bytes: number): Promise<Hold> =>
    gate.take(bytes).then((hold) => {
      order.push(name);
      return hold;
    });
  const first = await take('first', 90);
  const second = take('second', 50);
  // It would fit, but others were there before.
  const third = take('third', 5);
  await turn();
  assert.deepEqual(order, ['first']);
  first.keep(40);
  const [two, three] = await Promise.all([second, third]);
  assert.deepEqual(order, ['first', 'second', 'third']);
  assert.equal(gate.held, 95);
  for (const hold of [first, two, three]) hold.release();
  assert.equal(gate.held, 0);
});

test('one that is larger than the bound goes alone', async () => {
  const gate = new ByteGate(10);
  const small = await gate.take(1);
  let isIn = false;
  const large = gate.take(50).then((hold) => {
    isIn = true;
    return hold;
  });
  await turn();
  assert.equal(isIn, false);
  small.release();
  (await large).release();
  assert.equal(gate.held, 0);
});

test('whatever is taken and released, everything comes in, and never more than the bound', async () => {
  const random = createSeededRandom();
  const gate = new ByteGate(1000);
  let done = 0;
  await Promise.all(
    Array.from({ length: 300 }, async () => {
      const hold = await gate.take(random.below(900));
      assert.ok(gate.held <= 1000, `seed ${random.seed}`);
      await turn();
      hold.keep(random.below(10));
      await turn();
      hold.release();
      done++;
    }),
  );
  assert.deepEqual([done, gate.held], [300, 0], `seed ${random.seed}`);
});

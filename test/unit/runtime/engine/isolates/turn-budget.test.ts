import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TurnBudget } from '#runtime/engine/isolates/turn-budget.ts';

/** A budget, and tasks that each take so many milliseconds of a clock that only they move. */
function create(t: { mock: { method(object: object, name: string, replacement: () => number): unknown } }): {
  done: string[];
  add(name: string, ms: number): void;
} {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const budget = new TurnBudget();
  const done: string[] = [];
  return {
    done,
    add: (name, ms) =>
      budget.add(() => {
        now += ms;
        done.push(name);
      }),
  };
}

test('tasks run in the turn that they come in, but none after its budget is used', async (t) => {
  const { done, add } = create(t);
  add('a', 1);
  add('b', 1);
  add('c', 5);
  add('d', 0);
  assert.deepEqual(done, []);
  await Promise.resolve();
  assert.deepEqual(done, ['a', 'b']);
  await nextTurn();
  assert.deepEqual(done, ['a', 'b', 'c']);
  await nextTurn();
  assert.deepEqual(done, ['a', 'b', 'c', 'd']);
});

test('a task that comes when a budget is used waits for the next turn', async (t) => {
  const { done, add } = create(t);
  add('a', 2);
  await Promise.resolve();
  add('b', 0);
  await Promise.resolve();
  assert.deepEqual(done, ['a']);
  await nextTurn();
  assert.deepEqual(done, ['a', 'b']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createKeyedMutex } from '#control/process/keyed-mutex.ts';

test('work under one key runs in its order, also after work that failed; other keys do not wait', async () => {
  const mutex = createKeyedMutex();
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = mutex.exclusive('a', async () => {
    await gate.promise;
    seen.push('a1');
    throw new Error('failed');
  });
  const second = mutex.exclusive('a', async () => void seen.push('a2'));
  await mutex.exclusive('b', async () => void seen.push('b'));
  gate.resolve();
  await assert.rejects(first, /failed/);
  await second;
  assert.deepEqual(seen, ['b', 'a1', 'a2']);
});

test('no more than four hold a connection at a time, and all come to their turn', async () => {
  const mutex = createKeyedMutex();
  let [now, most] = [0, 0];
  const all = Array.from({ length: 20 }, () =>
    mutex.withConnection(async () => {
      most = Math.max(most, ++now);
      await turn();
      now--;
    }),
  );
  await Promise.all(all);
  assert.deepEqual([now, most], [0, 4]);
});

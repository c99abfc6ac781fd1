// Which threads of this process ask for no CPU.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { isThreadAsleep } from '#runtime/engine/isolates/thread-state.ts';

const ofLinux = { skip: process.platform !== 'linux' && 'only Linux has /proc' };

test('a thread that waits to be woken is asleep, and the one that asks is not', ofLinux, async () => {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const code = `const { parentPort, workerData } = require('node:worker_threads');
    parentPort.postMessage(require('node:fs').readlinkSync('/proc/thread-self'));
    Atomics.wait(workerData, 0, 0);`;
  const worker = new Worker(code, { eval: true, workerData: cell });
  const [path] = (await once(worker, 'message')) as [string];
  while (isThreadAsleep(Number(basename(path))) !== true) await new Promise(setImmediate);
  assert.equal(isThreadAsleep(Number(basename(readlinkSync('/proc/thread-self')))), false);
  Atomics.notify(cell, 0);
  await once(worker, 'exit');
});

test('of a thread that this process does not have nothing is known', () => {
  assert.equal(isThreadAsleep(1), process.pid === 1 && process.platform === 'linux' ? false : null);
  assert.equal(isThreadAsleep(2 ** 30), null);
});

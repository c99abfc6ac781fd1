// What checks find of the entry of a real isolate. They are made every millisecond and not every 50, so that for them
// much time passes while its thread gets little CPU, and 35 s of sleep are over within a second, long before the wait
// itself is. Not faster: a thread that waits for V8's own is asleep meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { defaultLimits } from '#core/limits.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostRecords } from '#runtime/engine/bridge/host-records.ts';
import { RecordReader, toGuest, toHost } from '#runtime/engine/bridge/protocol.ts';
import { EntryScheduler } from '#runtime/engine/isolates/entry.ts';
import { WorkerIsolate } from '#runtime/engine/isolates/isolate.ts';
import { LostThreads } from '#runtime/engine/isolates/lost-threads.ts';
import { loadNative } from '#runtime/engine/isolates/native.ts';
import { ResidentGrowth } from '#runtime/engine/isolates/resident-growth.ts';
import { loadSnapshot } from '#runtime/engine/isolates/snapshot.ts';

const lostThreads = new LostThreads(Infinity);
const deps = {
  snapshot: await loadSnapshot(cacheFolder(process.env)),
  native: loadNative(),
  scheduler: new EntryScheduler({ runningMax: 2, defer: setImmediate }),
  counters: { isolatesStarted: 0, isolatesEvicted: 0, entered: () => {} },
  compiledForms: null,
  limits: { ...defaultLimits, startupCpuMs: 300, atomicsWaitMs: 20_000 },
  lostThreads,
};

/** Checks the first entry of a worker from its first synchronous host call on, and says how it ends. */
async function endOf(code: string, growth?: ResidentGrowth): Promise<string> {
  const isolate = new WorkerIsolate(growth === undefined ? deps : { ...deps, growth });
  const batch = new HostRecords(new EngineMemory(defaultLimits).open('p/d'));
  batch.record(toGuest.start);
  let hasBegun = false;
  let end = '';
  const text = toWorkerText(Buffer.from(code));
  isolate.load(
    { text, hash: '', vars: {}, bindings: {}, cpuLimitMs: 100, owner: 'shop/d1', organization: null },
    batch,
    {
      left(meta, said, _shareMs, _cpuMs, bytes) {
        const reader = new RecordReader(meta, said, bytes);
        let letter = reader.next();
        // What its top level used.
        if (letter === toHost.charge) {
          assert.deepEqual([reader.number(), reader.number() >= 100, reader.number() >= 100], [0, true, true]);
          reader.close();
          letter = reader.next();
        }
        assert.equal(letter, toHost.started);
        end = reader.field();
      },
      sync() {
        hasBegun = true;
        return 'xn--bcher-kva.example';
      },
      waiting: () => assert.fail('it waits for nothing'),
      died: (reason) => (end = reason),
      burnt: () => {},
    },
  );
  isolate.request();
  while (end === '') {
    growth?.look();
    if (hasBegun) isolate.checkAlive();
    await setTimeout(1);
  }
  isolate.dispose();
  return end;
}

const begin = `new URL('http://b\u00fccher.example');`;

test('an endless loop is not stuck but ends with its CPU limit, however much time passes', async () => {
  assert.equal(await endOf(`${begin} for (;;);`), 'cpu');
  assert.deepEqual(lostThreads.takeLost(), []);
});

test('an entry whose thread sleeps for that time is stuck', async () => {
  assert.equal(await endOf(`${begin} Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`), 'stuck');
  assert.deepEqual(lostThreads.takeLost(), [{ owner: 'shop/d1', organization: null, reason: 'endless' }]);
});

const ofLinux = { skip: process.platform !== 'linux' && 'threads have no numbers elsewhere' };

test('an entry whose thread makes the process grow beyond all bounds ends for its memory', ofLinux, async () => {
  let looks = 0;
  const bytes = (): number => looks * 100 * 1024 * 1024;
  // Each page is touched by the thread that runs the entry.
  const growth = new ResidentGrowth(128, {
    bytes,
    faults: (thread) => (thread === undefined ? ++looks : looks) * 25_600,
  });
  assert.equal(await endOf(`${begin} for (;;);`, growth), 'memory');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type ivm from 'isolated-vm';
import { defaultLimits } from '#core/limits.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { EngineMemory } from '#runtime/engine/bridge/host-memory.ts';
import { HostRecords } from '#runtime/engine/bridge/host-records.ts';
import { RecordReader, toGuest, toHost } from '#runtime/engine/bridge/protocol.ts';
import type { CompiledForm, CompiledForms } from '#runtime/engine/isolates/compiled-forms.ts';
import { EntryScheduler } from '#runtime/engine/isolates/entry.ts';
import { WorkerIsolate } from '#runtime/engine/isolates/isolate.ts';
import { LostThreads } from '#runtime/engine/isolates/lost-threads.ts';
import { loadNative } from '#runtime/engine/isolates/native.ts';
import { Pool, type Tenant } from '#runtime/engine/isolates/pool.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { loadSnapshot } from '#runtime/engine/isolates/snapshot.ts';

const kept = new Map<string, CompiledForm>();
const offered: string[] = [];
const deps = {
  snapshot: await loadSnapshot(cacheFolder(process.env)),
  native: loadNative(),
  scheduler: new EntryScheduler({ runningMax: 1, defer: setImmediate }),
  counters: { isolatesStarted: 0, isolatesEvicted: 0, entered: () => {} },
  compiledForms: {
    find: (_owner: string, hash: string) => kept.get(hash) ?? null,
    offer: (_owner: string, hash: string, _length: number, stage: string) => void offered.push(`${hash} ${stage}`),
  } as unknown as CompiledForms,
  limits: { ...defaultLimits, startupCpuMs: 100 },
  lostThreads: new LostThreads(Infinity),
};

/** Starts a worker with one entry, and reads what it says of its start. */
async function start(code: string, requests = 0): Promise<{ isolate: WorkerIsolate; state: string; reason: string }> {
  const isolate = new WorkerIsolate(deps);
  const batch = new HostRecords(new EngineMemory(defaultLimits).open('p/d'));
  batch.record(toGuest.start);
  batch.requests = requests;
  return new Promise((resolve, reject) => {
    const unexpected = (): never => assert.fail('nothing else is said');
    const text = toWorkerText(Buffer.from(code));
    isolate.load(
      { text, hash: 'h', vars: {}, bindings: {}, cpuLimitMs: 0, owner: 'shop/d1', organization: null },
      batch,
      {
        left(meta, text, _shareMs, _cpuMs, bytes) {
          const reader = new RecordReader(meta, text, bytes);
          for (let letter = reader.next(); letter !== ''; letter = reader.next()) {
            if (letter === toHost.started) resolve({ isolate, state: reader.field(), reason: String(reader.json()) });
            // What the top level of a worker used that does not start.
            else if (letter === toHost.charge) for (let field = 0; field < 3; field++) reader.number();
            reader.close();
          }
        },
        sync: unexpected,
        waiting: unexpected,
        died: reject,
        burnt: unexpected,
      },
    );
    isolate.request();
  });
}

for (const [what, code, state, reason] of [
  ['serves', 'export default { fetch() {} };', 'ready', /^$/],
  [
    'does not compile',
    'export default {\n  fetch() { const a = ; }\n};',
    'syntax',
    /^Unexpected token ';' \[worker\.js:2:23\]$/,
  ],
  [
    'imports something',
    'import x from "left-out"; export default { fetch: x };',
    'failed',
    /^import of "left-out" was not bundled$/,
  ],
  ['throws', '\n  null.x;', 'failed', /^TypeError: Cannot read properties of null.*\n +at worker\.js:2:8\n/],
  ['throws no error', 'throw undefined;', 'failed', /^Error: undefined$/],
  ['throws after an await', 'await null; throw new RangeError("late");', 'failed', /^RangeError: late\n/],
  ['waits', 'await new Promise(() => {});', 'pending', /^$/],
  ['spins', 'for (;;);', 'cpu', /^$/],
  ['spins after an await', 'await null; for (;;);', 'cpu', /^$/],
  ['exports nothing', 'globalThis.x = 1;', 'no-handler', /^$/],
  [
    'breaks what arrays are read with',
    'Array.prototype[Symbol.iterator] = null; throw new Error("broken");',
    'failed',
    /^Error: broken\n/,
  ],
  ['asks for import.meta', 'export default { fetch() {}, meta: import.meta.url };', 'ready', /^$/],
] as const) {
  test(`a worker whose top level ${what} says ${state} in its first entry`, async () => {
    const started = await start(code);
    started.isolate.dispose();
    assert.equal(started.state, state);
    assert.match(started.reason, reason);
  });
}

/** 1,000 functions of which none runs, so that only who took a form with all of them has them. */
const rows = `const rows = [${'function () { return 1; },'.repeat(1000)}];\nexport default { fetch: () => new Response(rows[0]()) };`;
const ALL_ROWS_BYTES = 1000 * 100;

/** V8's form of all functions of a worker, none of which has run. */
async function formOf(code: string): Promise<SharedArrayBuffer> {
  const { isolate, functions } = await deps.snapshot.open({ memoryLimit: 64, native: deps.native });
  const compile = functions.getSync('compileAhead', { reference: true }) as unknown as ivm.Reference<
    (...parts: unknown[]) => ArrayBuffer
  >;
  const { bytes, isWide } = toWorkerText(Buffer.from(code));
  const copy = { arguments: { copy: true }, result: { copy: true } } as const;
  const form = (await compile.apply(undefined, [bytes, isWide, true], copy)) as ArrayBuffer;
  isolate.dispose();
  const shared = new SharedArrayBuffer(form.byteLength);
  new Uint8Array(shared).set(new Uint8Array(form));
  return shared;
}

for (const [what, code] of [
  ['', rows],
  [' with characters beyond ASCII', `/* \u{1F600} */ ${rows}`],
] as const) {
  test(`a worker${what} starts from its compiled form, and one that V8 refuses is compiled`, async () => {
    const heldBytes = async (): Promise<number> => {
      const { isolate, state } = await start(code);
      assert.equal(state, 'ready');
      const held = (await isolate.compiledForm())!.byteLength;
      isolate.dispose();
      return held;
    };
    assert.ok((await heldBytes()) < ALL_ROWS_BYTES);
    kept.set('h', { bytes: await formOf(code), stage: 'later' });
    assert.ok((await heldBytes()) > ALL_ROWS_BYTES);
    kept.set('h', { bytes: new SharedArrayBuffer(500), stage: 'later' });
    assert.ok((await heldBytes()) < ALL_ROWS_BYTES);
    kept.clear();
  });
}

test('a form is offered after the first request and after the hundredth, where it is not of that stage already', async () => {
  const offers = async (stage: CompiledForm['stage'] | null, requests: number): Promise<string[]> => {
    offered.length = 0;
    if (stage !== null) kept.set('h', { bytes: await formOf(rows), stage });
    const { isolate } = await start(rows, requests);
    kept.clear();
    isolate.dispose();
    return [...offered];
  };
  assert.deepEqual(await offers(null, 0), []);
  assert.deepEqual(await offers(null, 1), ['h first']);
  assert.deepEqual(await offers('ahead', 3), ['h first']);
  assert.deepEqual(await offers('first', 99), []);
  assert.deepEqual(await offers('first', 100), ['h later']);
  assert.deepEqual(await offers('later', 1000), []);
});

test('a worker whose text is in one byte a character says where it fails as the one in two does', async () => {
  const reasons = await Promise.all(
    ['', '\u{1F600}\u00e9'].map(async (beyond) => {
      const { isolate, reason } = await start(`const text = '${beyond}';\nthrow new Error(text + text.length);`);
      isolate.dispose();
      return reason.split('\n').slice(0, 2);
    }),
  );
  assert.deepEqual(reasons, [
    ['Error: 0', '    at worker.js:2:7'],
    ['Error: \u{1F600}\u00e93', '    at worker.js:2:7'],
  ]);
});

test('an idle isolate gives back what it does not need', async () => {
  const { isolate } =
    await start(`let junk = Array.from({ length: 100_000 }, (_, at) => ({ at })); export default { fetch: () => junk };
    await null; junk = null;`);
  const before = await isolate.heapBytes();
  await isolate.trim(false);
  const left = await isolate.heapBytes();
  assert.ok(left < before - 2_000_000, `of ${before} bytes too many are left`);
  // It has not grown since, so it is not collected again.
  await isolate.trim(false);
  assert.equal(await isolate.heapBytes(), left);
  isolate.dispose();
  await isolate.trim(false);
});

/** A tenant of a pool that was last used at 1,000, and the names of those that were asked to give memory back. */
function tenants(): { trimmed: string[]; tenant: (name: string, isIdle: boolean, used: number) => Tenant } {
  const trimmed: string[] = [];
  const tenant = (name: string, isIdle: boolean, used: number): Tenant => {
    let uses = used;
    let isResting = false;
    return {
      lastUsedAt: 1000,
      get uses() {
        return uses;
      },
      isIdle,
      conduct: { slowUntil: 0, isBurning: false },
      evict: () => {},
      disposeForMemory: () => {},
      get isResting() {
        return isResting;
      },
      async trim(isLong) {
        uses = 0;
        isResting = isLong;
        trimmed.push(isLong ? `${name}, resting` : name);
      },
      heldBytes: async () => 0,
    };
  };
  return { trimmed, tenant };
}

test('a pool asks each idle tenant soon after its last request to give memory back, and once more after a minute', async (t) => {
  t.mock.method(performance, 'now', () => 1000);
  const pool = new Pool(deps, { isolatesMax: 10, engineMemoryMb: 4096, blanks: 0 });
  const { trimmed, tenant } = tenants();
  const all = [
    tenant('idle', true, 999),
    tenant('busy', false, 1),
    tenant('hot', true, 1000),
    tenant('unused', true, 0),
  ];
  const isolates = all.map((each) => pool.take(each));
  await pool.trimIdle(3999);
  assert.deepEqual(trimmed, []);
  await pool.trimIdle(4000);
  await pool.trimIdle(60_999);
  assert.deepEqual(trimmed, ['idle']);
  await pool.trimIdle(61_000);
  await pool.trimIdle(600_000);
  assert.deepEqual(trimmed, ['idle', 'idle, resting', 'hot, resting', 'unused, resting']);
  pool.close();
  for (const isolate of isolates) isolate.dispose();
});

test('a pool leaves idle tenants alone while isolates start, but for a minute', async (t) => {
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  const pool = new Pool(deps, { isolatesMax: 10, engineMemoryMb: 4096, blanks: 0 });
  const { trimmed, tenant } = tenants();
  const isolates = [pool.take(tenant('idle', true, 1))];
  for (now = 10_000; now < 61_000; now += 999) {
    isolates.push(pool.take(tenant('busy', false, 1)));
    await pool.trimIdle();
    isolates.pop()!.dispose();
  }
  assert.deepEqual(trimmed, []);
  now = 61_000;
  await pool.trimIdle();
  assert.deepEqual(trimmed, ['idle, resting']);
  pool.close();
  for (const isolate of isolates) isolate.dispose();
});

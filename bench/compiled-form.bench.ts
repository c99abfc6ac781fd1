// `npm run bench compiled-form`: the CPU of the first response of a blank isolate, from the worker's source text:
// without compiled code of V8, with code compiled in advance, with all functions, and with the functions that ran.
// BENCH_WORKERS=hello,hono-zod selects other workers of workers/. Takes ten seconds.
import type ivm from 'isolated-vm';
import { defaultLimits } from '../core/limits.ts';
import { cacheFolder } from '../core/process/cache-folder.ts';
import { toWorkerText, type WorkerText } from '../core/worker-text.ts';
import { EngineMemory } from '../runtime/engine/bridge/host-memory.ts';
import { HostRecords } from '../runtime/engine/bridge/host-records.ts';
import { toGuest } from '../runtime/engine/bridge/protocol.ts';
import type { CompiledForm, CompiledForms } from '../runtime/engine/isolates/compiled-forms.ts';
import { EntryScheduler } from '../runtime/engine/isolates/entry.ts';
import { WorkerIsolate } from '../runtime/engine/isolates/isolate.ts';
import { LostThreads } from '../runtime/engine/isolates/lost-threads.ts';
import { loadNative } from '../runtime/engine/isolates/native.ts';
import { loadSnapshot } from '../runtime/engine/isolates/snapshot.ts';
import { EngineCounters } from '../runtime/engine/metrics/counters.ts';
import { bundleWorker } from './deployments.ts';
import { formatTable, median } from './statistics.ts';

const STARTS = Number(process.env['BENCH_ROUNDS'] ?? 20);
const WARM_UPS = 3;
const workers = (process.env['BENCH_WORKERS'] ?? 'hello,hono-zod').split(',');

let given: SharedArrayBuffer | null = null;
const deps = {
  snapshot: await loadSnapshot(cacheFolder(process.env)),
  native: loadNative(),
  scheduler: new EntryScheduler({ runningMax: 2, defer: setImmediate }),
  counters: new EngineCounters({ deploymentsMax: 1 }),
  compiledForms: {
    find: (): CompiledForm | null => (given === null ? null : { bytes: given, stage: 'later' }),
    offer() {},
  } as unknown as CompiledForms,
  limits: defaultLimits,
  lostThreads: new LostThreads(Infinity),
};
const memory = new EngineMemory(defaultLimits);

for (const name of workers) {
  const { code } = await bundleWorker(name);
  const text = toWorkerText(Buffer.from(code));
  given = null;
  const first = await start(text);
  const forms: Record<string, SharedArrayBuffer | null> = {
    'no form': null,
    'what compiling ahead gives': await compiled(text, false),
    'all functions': await compiled(text, true),
    'those that ran': shared((await first.isolate.compiledForm())!),
  };
  first.isolate.dispose();
  const times = new Map<string, number[]>();
  const heaps = new Map<string, number[]>();
  for (let at = -WARM_UPS; at < STARTS; at++) {
    for (const [form, bytes] of Object.entries(forms)) {
      given = bytes;
      const { isolate, cpuMs } = await start(text);
      if (at >= 0) {
        times.set(form, [...(times.get(form) ?? []), cpuMs]);
        heaps.set(form, [...(heaps.get(form) ?? []), await isolate.heapBytes()]);
      }
      isolate.dispose();
    }
  }
  const rows = Object.entries(forms).map(([form, bytes]): [string, ...number[]] => [
    form,
    median(times.get(form)!),
    (bytes?.byteLength ?? 0) / 1000,
    median(heaps.get(form)!) / 1e6,
  ]);
  process.stdout.write(`\n${formatTable([name, 'CPU ms', 'form KB', 'heap MB'], rows)}\n`);
}
process.exit(0);

/** A blank isolate gets its worker and one request; the time begins when it is blank. */
async function start(text: WorkerText): Promise<{ isolate: WorkerIsolate; cpuMs: number }> {
  const isolate = new WorkerIsolate(deps);
  await isolate.ready;
  const batch = new HostRecords(memory.open('bench/d1'));
  batch.record(toGuest.start);
  const url = batch.part('http://bench.localhost/');
  batch.record(toGuest.request, 1, 'GET', url, batch.part('host\0bench.localhost\0'), batch.part(null));
  const worker = { text, hash: 'h', vars: {}, bindings: {}, cpuLimitMs: 0, owner: 'bench/d1', organization: null };
  const before = process.cpuUsage();
  await new Promise<void>((resolve, reject) => {
    isolate.load(worker, batch, {
      left: (_meta, said) => (said.includes('content-type') ? resolve() : undefined),
      sync: () => undefined,
      waiting: () => Promise.reject(new Error('nothing is asked')),
      died: (reason) => reject(new Error(reason)),
      burnt: () => {},
    });
    isolate.request();
  });
  const { user, system } = process.cpuUsage(before);
  return { isolate, cpuMs: (user + system) / 1000 };
}

/** As runtime/engine/isolates/compile-ahead.ts does. */
async function compiled({ bytes, isWide }: WorkerText, isEager: boolean): Promise<SharedArrayBuffer> {
  const { isolate, functions } = await deps.snapshot.open({ memoryLimit: 128, native: deps.native });
  const compile = functions.getSync('compileAhead', { reference: true }) as unknown as ivm.Reference<
    (...words: unknown[]) => ArrayBuffer
  >;
  const copy = { arguments: { copy: true }, result: { copy: true } } as const;
  const form = (await compile.apply(undefined, [bytes, isWide, isEager], copy)) as ArrayBuffer;
  isolate.dispose();
  return shared(form);
}

function shared(form: ArrayBuffer): SharedArrayBuffer {
  const bytes = new SharedArrayBuffer(form.byteLength);
  new Uint8Array(bytes).set(new Uint8Array(form));
  return bytes;
}

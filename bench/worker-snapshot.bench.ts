// `npm run bench worker-snapshot`: the size of a snapshot of a worker after its top level, and the time to create an
// isolate from it, compared with the guest's snapshot. Evidence for docs/decisions/137-no-snapshots-of-workers.md: the
// engine never creates such snapshots. Takes a minute.
import ivm from 'isolated-vm';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { nativeFile } from '../runtime/engine/isolates/native.ts';
import { readContexts } from '../runtime/engine/isolates/snapshot-contexts.ts';
import { warmUpScript } from '../runtime/engine/isolates/snapshot-warm-up.ts';
import { formatTable, median } from './statistics.ts';

const STARTS = 60;
const WARM_UPS = 5;
/** Where a blob of V8 13.6 says where its contexts begin. */
const CONTEXTS_AT = 0x58;

const require = createRequire(import.meta.url);
const { createSnapshot } = require(nativeFile('snapshot')) as {
  createSnapshot(code: Uint8Array, warmUp: Uint8Array): ArrayBuffer;
};
const guest = await scriptOf(join(import.meta.dirname, '../runtime/engine/guest/main.ts'));

/** A bundle as one script; `worker` gets what it exports, if it exports anything. */
async function scriptOf(input: string): Promise<string> {
  const bundle = await rolldown({
    input,
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'default'] },
    transform: { target: 'es2024' },
    onLog() {},
  });
  const { output } = await bundle.generate({ format: 'iife', name: 'worker', exports: 'auto', codeSplitting: false });
  await bundle.close();
  return output[0].code;
}

/** An isolate whose context comes from the blob's second one, with the memory that it was made from. */
function open(copy: ivm.ExternalCopy<ArrayBuffer>): { isolate: ivm.Isolate; copy: ivm.ExternalCopy<ArrayBuffer> } {
  const isolate = new ivm.Isolate({ memoryLimit: 128, snapshot: copy });
  const shared = copy.copy({ transferIn: true });
  const { bare, guest: second } = readContexts(shared);
  const table = new DataView(shared);
  table.setUint32(CONTEXTS_AT, second, true);
  isolate.createContextSync();
  table.setUint32(CONTEXTS_AT, bare, true);
  return { isolate, copy: new ivm.ExternalCopy(shared, { transferOut: true }) };
}

const blobs = new Map<string, { bytes: number; copy: ivm.ExternalCopy<ArrayBuffer>; ms: number[]; heap: number }>();
for (const name of ['', 'hello', 'hono-zod']) {
  const worker = name === '' ? '' : await scriptOf(join(import.meta.dirname, `workers/${name}.js`));
  // The worker's top level runs without the natives of the guest: no snapshot can hold those.
  const kept = name === '' ? '' : 'globalThis.kept = worker;';
  const blob = createSnapshot(Buffer.from(`${guest}\n${worker}\n${kept}`), Buffer.from(warmUpScript()));
  const bytes = blob.byteLength;
  blobs.set(name, { bytes, copy: new ivm.ExternalCopy(blob, { transferOut: true }), ms: [], heap: 0 });
}
for (let at = -WARM_UPS; at < STARTS; at++) {
  for (const made of blobs.values()) {
    const began = performance.now();
    const { isolate, copy } = open(made.copy);
    if (at >= 0) made.ms.push(performance.now() - began);
    made.heap = isolate.getHeapStatisticsSync().used_heap_size;
    made.copy = copy;
    isolate.dispose();
  }
}
const rows = [...blobs].map(([name, { bytes, ms, heap }]): [string, ...number[]] => [
  name === '' ? 'the guest alone' : `with ${name}`,
  bytes / 1000,
  Math.min(...ms),
  median(ms),
  heap / 1e6,
]);
process.stdout.write(`${formatTable(['snapshot', 'KB', 'fastest ms', 'median ms', 'heap MB'], rows)}\n`);
process.exit(0);

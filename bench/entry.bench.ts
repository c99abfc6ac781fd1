// `npm run bench entry`: the cost of a request between the event loop and its isolate, without HTTP: CPU time of all
// threads, and how often they wait for each other. Use it for changes of how isolates are entered, and run two
// checkouts alternately.
import { defaultLimits } from '../core/limits.ts';
import { cacheFolder } from '../core/process/cache-folder.ts';
import { toWorkerText } from '../core/worker-text.ts';
import { EngineMemory } from '../runtime/engine/bridge/host-memory.ts';
import { HostRecords } from '../runtime/engine/bridge/host-records.ts';
import { FIELD, RECORD, RecordReader, toGuest, toHost } from '../runtime/engine/bridge/protocol.ts';
import { EntryScheduler } from '../runtime/engine/isolates/entry.ts';
import { WorkerIsolate } from '../runtime/engine/isolates/isolate.ts';
import { LostThreads } from '../runtime/engine/isolates/lost-threads.ts';
import { loadNative } from '../runtime/engine/isolates/native.ts';
import { loadSnapshot } from '../runtime/engine/isolates/snapshot.ts';
import { rounds } from './load.ts';
import { formatTable, median } from './statistics.ts';

const WARM = 3000;
const COUNT = 12_000;
const IDS = 1024;
const hello = `export default { fetch: () => new Response('Hello World') };`;

const isolate = new WorkerIsolate({
  snapshot: await loadSnapshot(cacheFolder(process.env)),
  native: loadNative(),
  scheduler: new EntryScheduler({ runningMax: 2, defer: setImmediate }),
  counters: { isolatesStarted: 0, isolatesEvicted: 0, entered: () => {} },
  compiledForms: null,
  limits: defaultLimits,
  lostThreads: new LostThreads(Infinity),
});
const records = new HostRecords(new EngineMemory(defaultLimits).open('p/d'));
let onAnswer = (): void => {};

function left(meta: string, text: string, bytes: readonly Uint8Array[], started: () => void): void {
  const reader = new RecordReader(meta, text, bytes);
  for (let letter = reader.next(); letter !== ''; letter = reader.next()) {
    if (letter === toHost.response) {
      // Its number, status, headers, body, and that it is over.
      for (let field = 0; field < 2; field++) reader.field();
      for (let part = 0; part < 2; part++) reader.part(reader.field());
      reader.field();
      onAnswer();
    } else {
      reader.field();
      // With a state and a reason; other records say what one used, or when it wants to be woken.
      if (letter === toHost.started) {
        reader.field();
        started();
      } else if (letter === toHost.charge) for (let field = 0; field < 2; field++) reader.field();
    }
    reader.close();
  }
}

records.record(toGuest.start);
await new Promise<void>((resolve) => {
  const text = toWorkerText(Buffer.from(hello));
  const worker = { text, hash: '', vars: {}, bindings: {}, cpuLimitMs: 0, owner: 'bench/hello', organization: null };
  isolate.load(worker, records, {
    left: (meta, text, _shareMs, _cpuMs, bytes) => left(meta, text, bytes, resolve),
    sync: () => undefined,
    waiting: () => Promise.reject(new Error('nothing is waited for')),
    died(reason, error) {
      throw new Error(`The isolate died: ${reason}`, { cause: error });
    },
    burnt: () => {},
  });
  isolate.request();
});

let sent = 0;
function send(): void {
  const fields = ['GET', records.part('http://hello/'), records.part('host\0hello\0'), records.part(null)];
  records.meta += toGuest.request + FIELD + (sent++ % IDS) + FIELD + fields.join(FIELD) + FIELD + RECORD;
  records.requests++;
  isolate.request();
}

/** So many requests, some of them at once: each answer sends the next in a turn of its own, as a client would. */
function run(count: number, atOnce: number): Promise<void> {
  return new Promise((resolve) => {
    let [open, unsent] = [count, count - atOnce];
    onAnswer = () => {
      if (--open === 0) resolve();
      else if (unsent-- > 0) setImmediate(send);
    };
    for (let at = 0; at < atOnce; at++) send();
  });
}

process.stdout.write(`Medians of ${rounds} rounds of ${COUNT} requests, one process and its threads\n`);
const rows: (string | number)[][] = [];
for (const atOnce of [1, 8]) {
  await run(WARM, atOnce);
  const readings: number[][] = [];
  for (let round = 0; round < rounds; round++) {
    const [before, startedAt] = [process.resourceUsage(), performance.now()];
    await run(COUNT, atOnce);
    const wallUs = (performance.now() - startedAt) * 1000;
    const after = process.resourceUsage();
    const used = (
      figure: 'userCPUTime' | 'systemCPUTime' | 'voluntaryContextSwitches' | 'involuntaryContextSwitches',
    ) => (after[figure] - before[figure]) / COUNT;
    const systemUs = used('systemCPUTime');
    readings.push([
      used('userCPUTime') + systemUs,
      systemUs,
      used('voluntaryContextSwitches'),
      used('involuntaryContextSwitches'),
      (wallUs * atOnce) / COUNT,
    ]);
  }
  rows.push([`${atOnce} at once`, ...[0, 1, 2, 3, 4].map((at) => median(readings.map((figures) => figures[at]!)))]);
}
const head = ['a request', 'CPU us', 'of it system', 'waits', 'taken off', 'latency us'];
process.stdout.write(`${formatTable(head, rows)}\n`);
isolate.dispose();

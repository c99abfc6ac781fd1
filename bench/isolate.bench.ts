// `npm run bench isolate`: the cost of an isolate: the time to create one, the size of the snapshot, the memory of an
// idle isolate, and the first request to an unused deployment.
import { rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import ivm from 'isolated-vm';
import { defaultLimits } from '../core/limits.ts';
import { EntryScheduler } from '../runtime/engine/isolates/entry.ts';
import { WorkerIsolate } from '../runtime/engine/isolates/isolate.ts';
import { EngineCounters } from '../runtime/engine/metrics/counters.ts';
import { LostThreads } from '../runtime/engine/isolates/lost-threads.ts';
import { loadNative } from '../runtime/engine/isolates/native.ts';
import { cacheFolder } from '../core/process/cache-folder.ts';
import { loadSnapshot } from '../runtime/engine/isolates/snapshot.ts';
import { names } from './deployments.ts';
import { residentBytes } from './load.ts';
import { publishWorkers, startEngine } from './servers.ts';
import { formatTable, median, percentile } from './statistics.ts';
import { visitOnce } from './visits.ts';

const STARTS = 50;
const WARM_UPS = 20;
const IDLE = 200;
const FIRSTS = 100;
const FIRST_EVERY_MS = 20;

await isolateTimes();
await engineFigures();

/** Ours and a bare one in turn, each disposed before the next. */
async function isolateTimes(): Promise<void> {
  const snapshot = await loadSnapshot(cacheFolder(process.env));
  const scheduler = new EntryScheduler({ runningMax: 2, defer: setImmediate });
  const counters = new EngineCounters({ deploymentsMax: 1 });
  const deps = {
    snapshot,
    native: loadNative(),
    scheduler,
    counters,
    compiledForms: null,
    limits: defaultLimits,
    lostThreads: new LostThreads(Infinity),
  };
  const ours: number[] = [];
  const bare: number[] = [];
  for (let i = -10; i < STARTS; i++) {
    let began = performance.now();
    const isolate = new WorkerIsolate(deps);
    await isolate.ready;
    const oursMs = performance.now() - began;
    isolate.dispose();
    began = performance.now();
    const empty = new ivm.Isolate({ memoryLimit: defaultLimits.isolateMemoryMb });
    empty.createContextSync();
    const bareMs = performance.now() - began;
    empty.dispose();
    if (i < 0) continue;
    ours.push(oursMs);
    bare.push(bareMs);
  }
  print([
    [
      'isolate, context and guest connected',
      median(ours),
      `ms, median of ${STARTS}; the fastest ${Math.min(...ours).toFixed(2)}`,
    ],
    [
      'bare isolated-vm isolate and context',
      median(bare),
      `ms, median of ${STARTS}; the fastest ${Math.min(...bare).toFixed(2)}`,
    ],
    ['snapshot', snapshot.bytes / 1000, 'KB'],
  ]);
}

/** In a real engine process, over HTTP. */
async function engineFigures(): Promise<void> {
  const [warm, live, fresh] = [names('warm', WARM_UPS), names('live', IDLE), names('fresh', FIRSTS)];
  const folder = await publishWorkers('hello', ['first', ...warm, ...live, ...fresh]);
  const engine = await startEngine('engine', folder, 'node', 'first', '/');
  const agent = new Agent({ keepAlive: true });
  try {
    for (const name of warm) await visitMs(engine.url, name, agent);
    await delay(500);
    const before = residentBytes(engine.pid);
    for (const name of live) await visitMs(engine.url, name, agent);
    await delay(500);
    const perIsolate = (residentBytes(engine.pid) - before) / IDLE;
    const times: number[] = [];
    for (const [at, name] of fresh.entries()) {
      const began = performance.now();
      times.push(await visitMs(engine.url, name, agent));
      if (at + 1 < fresh.length) await delay(Math.max(0, FIRST_EVERY_MS - (performance.now() - began)));
    }
    print([
      ['resident memory of an idle isolate', perIsolate / 1e6, `MB, growth over ${IDLE} live hello workers`],
      [
        'first request, p50',
        percentile(times, 0.5),
        `ms, ${FIRSTS} untouched deployments, one every ${FIRST_EVERY_MS} ms`,
      ],
      ['first request, p99', percentile(times, 0.99), 'ms'],
      ['request to a live one', await repeated(engine.url, agent), 'ms, p50, same client'],
    ]);
  } finally {
    agent.destroy();
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function repeated(url: string, agent: Agent): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < FIRSTS; i++) {
    times.push(await visitMs(url, 'first', agent));
    await delay(FIRST_EVERY_MS / 4);
  }
  return percentile(times, 0.5);
}

/** Milliseconds from sending a request to the end of its answer. @throws {Error} when it is not 200. */
async function visitMs(url: string, project: string, agent: Agent): Promise<number> {
  const began = performance.now();
  const status = await visitOnce(url, project, agent);
  if (status !== '200') throw new Error(`${project} answered ${status}`);
  return performance.now() - began;
}

function print(rows: readonly (readonly [string, number, string])[]): void {
  // The unit stands behind the figure, to the left: no column of its own width.
  const lines = formatTable(
    ['', ''],
    rows.map(([name, value]) => [name, value]),
  )
    .split('\n')
    .slice(1);
  process.stdout.write(`${lines.map((line, at) => `${line} ${rows[at]![2]}`).join('\n')}\n`);
}

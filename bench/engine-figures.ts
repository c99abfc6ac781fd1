// Loaded into an engine before the engine's code (`--import`): counts entries of isolates and sums the users of memory,
// and reports to the benchmark over the process channel. The engine itself is unchanged.
import { openSync, readSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WorkerIsolate } from '../runtime/engine/isolates/isolate.ts';

/** Bytes by what holds them; what is resident beyond them is neither V8's nor a buffer's. */
export interface HeldBytes {
  /** The engine's own heap. */
  readonly heap: number;
  /** Buffers of the engine, code of workers and compiled forms among them. */
  readonly buffers: number;
  /** Heaps and buffers of the isolates that were entered and live. */
  readonly isolates: number;
}

/** The longest turns of the event loop since the last question, with at most one millisecond of the turn beside it. */
export interface Turns {
  readonly wallMs: number;
  /** CPU of the main thread in it: what others took of the core does not count. */
  readonly cpuMs: number;
}

let entries = 0;
const entered = new Set<WorkerIsolate>();
const { enter, dispose } = WorkerIsolate.prototype;
WorkerIsolate.prototype.enter = function (this: WorkerIsolate): void {
  entries++;
  entered.add(this);
  enter.call(this);
};
WorkerIsolate.prototype.dispose = function (this: WorkerIsolate): number {
  entered.delete(this);
  return dispose.call(this);
};
process.on('message', (message) => {
  if (message === 'entries') process.send?.({ entries });
  if (message === 'held') void heldBytes().then((held) => process.send?.({ held }));
  if (message === 'reached') process.send?.({ reached: reachedBytes() });
  if (message === 'turns') process.send?.({ turns: longestTurns() });
});

let turns = { wallMs: 0, cpuMs: 0 };
let looking: NodeJS.Timeout | null = null;

/** The first question begins to look, from then on every millisecond. */
function longestTurns(): Turns {
  const longest = turns;
  turns = { wallMs: 0, cpuMs: 0 };
  // Linux, to the nanosecond; no CPU is known elsewhere.
  const descriptor = process.platform === 'linux' ? openSync('/proc/thread-self/schedstat', 'r') : -1;
  const text = Buffer.alloc(80);
  const cpuMs = (): number =>
    descriptor < 0 ? 0 : Number.parseInt(text.toString('latin1', 0, readSync(descriptor, text, 0, 80, 0)), 10) / 1e6;
  let before = { at: performance.now(), cpu: cpuMs() };
  looking ??= setInterval(() => {
    const now = { at: performance.now(), cpu: cpuMs() };
    turns.wallMs = Math.max(turns.wallMs, now.at - before.at);
    turns.cpuMs = Math.max(turns.cpuMs, now.cpu - before.cpu);
    before = now;
  }, 1);
  return longest;
}

/** What the engine's own heap holds once it has been collected. */
function reachedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

async function heldBytes(): Promise<HeldBytes> {
  const { heapTotal, external } = process.memoryUsage();
  // One that ends meanwhile holds nothing.
  const isolates = await Promise.all([...entered].map((isolate) => isolate.heapBytes().catch(() => 0)));
  return { heap: heapTotal, buffers: external, isolates: isolates.reduce((sum, bytes) => sum + bytes, 0) };
}
// An engine without a supervisor does not see that whoever started it is gone.
process.on('disconnect', () => process.exit(0));

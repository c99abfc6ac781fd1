// Loaded into an engine before its own code (`--import`): counts how often isolates are entered, adds up what holds
// memory, and tells the bench when it asks over the process channel. The engine itself stays as it is.
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
});

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

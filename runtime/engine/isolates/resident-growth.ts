// The backstop for memory that nothing counts: growth of the engine's resident memory while an isolate's code runs. Of
// what the process grew between two looks an isolate has the share of its thread in the pages that were touched first.
// What it grew long ago is forgotten: memory that goes and comes back looks like growth. Used by isolate.ts at each
// check of an entry. Linux only: elsewhere no isolate is ever over.
import { readFileSync } from 'node:fs';

/** What an isolate grew lately. */
export interface GrownBytes {
  bytes: number;
  /** When it was added to. */
  at: number;
}

/** Memory of the process, and pages that it or one of its threads touched first; null: not known. */
export interface ResidentReader {
  bytes(): number;
  faults(thread?: number): number | null;
}

/** In which the bound must be reached. */
const FORGOTTEN_MS = 10_000;
/** Looks that are further apart say nothing about who ran in between. */
const GAP_MS_MAX = 500;
/** Of heap and of buffers each isolate may have its limit; V8 itself takes some more. */
const SPARE_BYTES = 64 * 1024 * 1024;

/** The growth of one engine. */
export class ResidentGrowth {
  #bytesMax: number;
  #read: ResidentReader;
  #now: () => number;
  /** At the last look. */
  #at = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #faults = 0;
  /** Of threads that have been seen to run an entry. */
  #ofThreads = new Map<number, number>();
  /** Between the last two looks. */
  #grown = 0;
  #faulted = 0;
  /** Of the whole process: an isolate is not over where what it grew went again elsewhere. */
  #all: GrownBytes = { bytes: 0, at: 0 };

  /** @param memoryMb limit of an isolate. */
  constructor(memoryMb: number, read: ResidentReader = ofThisProcess, now = (): number => performance.now()) {
    this.#bytesMax = 2 * memoryMb * 1024 * 1024 + SPARE_BYTES;
    this.#read = read;
    this.#now = now;
  }

  /** Once before the entries that run are asked for. */
  look(): void {
    const faults = this.#read.faults();
    if (faults === null) return;
    const now = this.#now();
    const bytes = this.#read.bytes();
    const isNear = now - this.#at <= GAP_MS_MAX;
    this.#grown = isNear ? bytes - this.#bytes : 0;
    this.#faulted = isNear ? faults - this.#faults : 0;
    if (!isNear) this.#ofThreads.clear();
    this.#at = now;
    this.#bytes = bytes;
    this.#faults = faults;
    this.#add(this.#all, this.#grown);
  }

  /** Whether the isolate whose entry runs on this thread has made the process grow by more than it may. */
  isOver(grown: GrownBytes, thread: number): boolean {
    const faults = this.#read.faults(thread);
    if (faults === null) return false;
    const before = this.#ofThreads.get(thread);
    this.#ofThreads.set(thread, faults);
    if (before === undefined || this.#faulted <= 0) return false;
    this.#add(grown, this.#grown * Math.min(1, (faults - before) / this.#faulted));
    return grown.bytes > this.#bytesMax && this.#all.bytes > this.#bytesMax;
  }

  #add(grown: GrownBytes, bytes: number): void {
    const forgotten = ((this.#at - grown.at) / FORGOTTEN_MS) * this.#bytesMax;
    grown.bytes = Math.max(0, grown.bytes - forgotten + bytes);
    grown.at = this.#at;
  }
}

const ofThisProcess: ResidentReader = {
  bytes: () => process.memoryUsage.rss(),
  faults(thread) {
    try {
      const stat = readFileSync(thread === undefined ? '/proc/self/stat' : `/proc/self/task/${thread}/stat`, 'latin1');
      // `<id> (<name>) <state> ...`; a name may have any character.
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ', 8)[7]);
    } catch {
      return null;
    }
  },
};

// The last protection against memory that no other code counts: growth of the engine's resident memory while an
// isolate's code runs. Between two checks, each isolate is attributed the share of the growth that its thread has of
// the page faults. Old growth is forgotten, because memory that is freed and allocated again looks like growth. Used by
// isolate.ts at each check of an entry. Only works on Linux; on other systems, no isolate ever exceeds the limit.
import { readFileSync } from 'node:fs';

/** Recent growth of an isolate. */
export interface GrownBytes {
  bytes: number;
  /** Time of the last addition. */
  at: number;
}

/** Reads the memory of the process, and the page faults of the process or one of its threads; null if unknown. */
interface ResidentReader {
  bytes(): number;
  faults(thread?: number): number | null;
}

/** Only growth within this time is counted. */
const FORGOTTEN_MS = 10_000;
/** If checks are further apart, they do not show which isolate ran in between. */
const GAP_MS_MAX = 500;
/** An isolate may use its limit for the heap, and again for buffers; V8 itself needs some more memory. */
const SPARE_BYTES = 64 * 1024 * 1024;

/** The growth of one engine. */
export class ResidentGrowth {
  #bytesMax: number;
  #read: ResidentReader;
  #now: () => number;
  /** The time of the last check. */
  #at = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #faults = 0;
  /** Page faults of the threads that have run an entry. */
  #ofThreads = new Map<number, number>();
  /** The growth between the last two checks. */
  #grown = 0;
  #faulted = 0;
  /** Growth of the whole process. An isolate is not over its limit if as much memory was freed elsewhere. */
  #all: GrownBytes = { bytes: 0, at: 0 };

  /** @param memoryMb memory limit of an isolate. */
  constructor(memoryMb: number, read: ResidentReader = ofThisProcess, now = (): number => performance.now()) {
    this.#bytesMax = 2 * memoryMb * 1024 * 1024 + SPARE_BYTES;
    this.#read = read;
    this.#now = now;
  }

  /** Called once before the running entries are checked. */
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

  /** Whether the isolate whose entry runs on this thread has grown the process by more than it may. */
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
      // Fields after the name; the format is `<id> (<name>) <state> ...`, and a name may contain any character.
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ', 8)[7]);
    } catch {
      return null;
    }
  },
};

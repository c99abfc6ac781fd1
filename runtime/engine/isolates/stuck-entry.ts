// Detects a stuck entry, whose isolate is then abandoned with its thread. Measures the thread's CPU, because wall time
// also passes while the thread waits for a core on a busy machine. Used by isolate.ts at each check of
// serving/upkeep.ts; short entries are not examined.
import { isThreadAsleep } from './thread-state.ts';

/** Interval of the checks. */
export const CHECK_MS = 50;
/** CPU that an entry may use after it was told to end: some built-ins check for this only when they finish. */
const OVERDUE_MS_MAX = 5000;
/** An entry is first examined after this time, because CPU time never exceeds wall time, and then at this interval. */
const SUSPICIOUS_MS = OVERDUE_MS_MAX;
const LOOK_MS = 500;
/** How long the isolate's thread may sleep, in addition to the limit of `Atomics.wait`. */
const ASLEEP_MS_MAX = 15_000;
/** A sleeping thread that has used this much CPU since the last check was awake in the meantime. */
const AWAKE_MS = LOOK_MS / 10;

/** Indices of the words that the native watch writes while an entry runs (`ShownWord` in native/guest/cpu-watch.h). */
export const shownWords = { thread: 0, usedMs: 1, overdueMs: 2, overflowed: 3, count: 4 } as const;

/** The entries of one isolate. */
export class StuckEntry {
  /** `shownWords`, in memory that the native watch writes. */
  readonly shown = new Int32Array(new SharedArrayBuffer(shownWords.count * Int32Array.BYTES_PER_ELEMENT));
  #asleepMsMax: number;
  #isThreadAsleep: typeof isThreadAsleep;
  #lastedMs = 0;
  #asleepMs = 0;
  #usedMs = 0;

  constructor(atomicsWaitMs: number, isAsleep = isThreadAsleep) {
    this.#asleepMsMax = ASLEEP_MS_MAX + atomicsWaitMs;
    this.#isThreadAsleep = isAsleep;
  }

  /** The CPU of the current or last entry, in ms. */
  get usedMs(): number {
    return Atomics.load(this.shown, shownWords.usedMs);
  }

  /** Whether the heap has overflowed inside V8, so that the thread sleeps forever. */
  get isOverflowed(): boolean {
    return Atomics.load(this.shown, shownWords.overflowed) !== 0;
  }

  /** Whether a thread is in the isolate. */
  get isEntered(): boolean {
    return Atomics.load(this.shown, shownWords.thread) !== 0;
  }

  /** Called before an entry runs on its thread, when the CPU of the previous one is already reported. */
  begin(): void {
    if (!this.isEntered) Atomics.store(this.shown, shownWords.usedMs, 0);
  }

  /** Called when no entry runs, or another one has begun since the last check. */
  reset(): void {
    this.#lastedMs = 0;
    this.#asleepMs = 0;
  }

  /**
   * Checks the running entry, `CHECK_MS` after the previous check. The time during which the process was stopped is not
   * counted, because no checks ran.
   *
   * @param awaitsHost whether its thread waits for the reply to a host call.
   */
  check(awaitsHost: boolean): boolean {
    this.#lastedMs += CHECK_MS;
    if (this.#lastedMs < SUSPICIOUS_MS || this.#lastedMs % LOOK_MS !== 0) return false;
    const thread = Atomics.load(this.shown, shownWords.thread);
    const usedMs = Atomics.load(this.shown, shownWords.usedMs);
    const overdueMs = Atomics.load(this.shown, shownWords.overdueMs);
    if (thread !== 0 && overdueMs > OVERDUE_MS_MAX) return true;
    const isAsleep = !awaitsHost && this.#sleeps(thread, usedMs - this.#usedMs);
    this.#asleepMs = isAsleep ? this.#asleepMs + LOOK_MS : 0;
    this.#usedMs = usedMs;
    return this.#asleepMs > this.#asleepMsMax;
  }

  /** If the thread's state is unknown, a thread that used no CPU is treated as asleep. */
  #sleeps(thread: number, usedMs: number): boolean {
    if (usedMs < 0 || usedMs >= AWAKE_MS) return false;
    return (thread > 0 ? this.#isThreadAsleep(thread) : null) ?? usedMs === 0;
  }
}

// The clocks of leases, the same for all processes of a machine. The monotonic clock continues while a process is
// stopped, but not while its machine sleeps. The time of day includes the sleep. A lease ends when the first of the two
// clocks reaches its end, so setting the time of day can shorten a lease, but never extend it.

/** Milliseconds of the monotonic clock. */
export function leaseNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** A moment on both clocks, in milliseconds. */
export interface Moment {
  readonly monotonic: number;
  readonly day: number;
}

/** Earlier than all other moments: a lease with this end has expired. */
export const LONG_AGO: Moment = { monotonic: 0, day: 0 };

/** Now. The time between the two readings shortens the lease. */
export function momentNow(): Moment {
  const monotonic = leaseNow();
  return { monotonic, day: Date.now() };
}

export function later({ monotonic, day }: Moment, ms: number): Moment {
  return { monotonic: monotonic + ms, day: day + ms };
}

/** The clocks are not read at the same instant, so they may differ by this much without a clock having been set. */
const APART_MS = 50;

/** The end of a lease. An expired lease stays expired, even if a clock is set back, until it gets a new end. */
export class LeaseEnd {
  readonly #now: () => Moment;
  #at: Moment | null;

  /** @param at null if the lease does not expire. */
  constructor(at: Moment | null, now: () => Moment = momentNow) {
    this.#at = at;
    this.#now = now;
  }

  /** Null if the lease does not expire. */
  get at(): Moment | null {
    return this.#at;
  }

  set(at: Moment | null): void {
    this.#at = at;
  }

  /** Remaining milliseconds; 0: expired. */
  get leftMs(): number {
    if (this.#at === null) return Infinity;
    if (this.#at === LONG_AGO) return 0;
    const now = this.#now();
    const monotonic = this.#at.monotonic - now.monotonic;
    const day = this.#at.day - now.day;
    if (monotonic <= 0 || day <= 0) {
      this.#at = LONG_AGO;
      return 0;
    }
    // The time of day was set back: adjust, so that a later sleep is still detected.
    if (day > monotonic + APART_MS) this.#at = { monotonic: this.#at.monotonic, day: now.day + monotonic };
    return Math.min(monotonic, day);
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}

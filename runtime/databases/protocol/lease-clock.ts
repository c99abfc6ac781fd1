// The clocks of leases, the same for all processes of a machine. The monotonic one goes on while a process is stopped,
// but stands still while its machine sleeps; the clock of the day is set forward then. A lease ends by the one that is
// ahead, so a day that is set wrong ends one early, and never lets one last.

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

/** Before all others: a lease that ended then has ended. */
export const LONG_AGO: Moment = { monotonic: 0, day: 0 };

/** Now. What passes between the two readings makes leases shorter. */
export function momentNow(): Moment {
  const monotonic = leaseNow();
  return { monotonic, day: Date.now() };
}

export function later({ monotonic, day }: Moment, ms: number): Moment {
  return { monotonic: monotonic + ms, day: day + ms };
}

/** So much the clocks may differ without one of them having been set: they are not read at once. */
const APART_MS = 50;

/** The end of a lease. Once it is past, it stays past, however the clocks are set, until a new end is set. */
export class LeaseEnd {
  readonly #now: () => Moment;
  #at: Moment | null;

  /** @param at null: nothing ends the lease. */
  constructor(at: Moment | null, now: () => Moment = momentNow) {
    this.#at = at;
    this.#now = now;
  }

  /** Null: nothing ends the lease. */
  get at(): Moment | null {
    return this.#at;
  }

  set(at: Moment | null): void {
    this.#at = at;
  }

  /** Milliseconds that are left; 0: it is past. */
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
    // The day was set back: a sleep from now on must still be seen.
    if (day > monotonic + APART_MS) this.#at = { monotonic: this.#at.monotonic, day: now.day + monotonic };
    return Math.min(monotonic, day);
  }

  get isPast(): boolean {
    return this.leftMs === 0;
  }
}

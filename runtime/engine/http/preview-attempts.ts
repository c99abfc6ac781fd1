// Limits password attempts on previews: per address, and per project for attackers with many addresses. Each engine
// stores attempts separately, with a limited size: evicted entries start again at zero. Used by preview-protection.ts.

const WINDOW_MS = 15 * 60_000;
const OF_ADDRESS_MAX = 10;
const OF_PROJECT_MAX = 500;
const KEPT_MAX = 10_000;
/** Maximum number of concurrent checks, each of which takes some 50 ms of a thread and 16 MB. */
const RUNNING_MAX = 4;

interface Count {
  count: number;
  readonly endsAt: number;
}

/** The attempts of the last minutes. */
export class PreviewAttempts {
  #counts = new Map<string, Count>();
  #running = 0;
  #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /**
   * Seconds until the next attempt is allowed. If it is allowed now, returns 0 and counts the attempt. Call `end`
   * afterwards.
   */
  begin(project: string, address: string): number {
    if (this.#running >= RUNNING_MAX) return 1;
    const counts = [this.#of(`${project} ${address}`), this.#of(project)] as const;
    for (const [index, most] of [OF_ADDRESS_MAX, OF_PROJECT_MAX].entries()) {
      const { count, endsAt } = counts[index]!;
      if (count >= most) return Math.max(1, Math.ceil((endsAt - this.#now()) / 1000));
    }
    for (const each of counts) each.count++;
    this.#running++;
    return 0;
  }

  /**
   * @param isRight whether the password was correct. A correct password is not counted as an attempt, so it may be used
   * any number of times.
   */
  end(project: string, address: string, isRight: boolean): void {
    this.#running--;
    if (isRight) for (const key of [`${project} ${address}`, project]) this.#of(key).count--;
  }

  #of(key: string): Count {
    let found = this.#counts.get(key);
    if (found === undefined || found.endsAt <= this.#now()) {
      this.#counts.delete(key);
      if (this.#counts.size >= KEPT_MAX) this.#counts.delete(this.#counts.keys().next().value!);
      found = { count: 0, endsAt: this.#now() + WINDOW_MS };
      this.#counts.set(key, found);
    }
    return found;
  }
}

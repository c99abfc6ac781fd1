// Limits the share of each event loop tick for calls of workers. Deployments take turns for the remaining calls. The
// work is measured. Each engine has one; bridge/guest-calls.ts starts each host call with it.

/** Time for calls per tick of the event loop. The next tick runs after other pending events. */
const TURN_MS = 2;

/** Waiting work of one deployment, in order. */
interface Lane {
  readonly of: object;
  readonly waiting: (() => void)[];
}

export class MainThreadBudget {
  #usedMs = 0;
  #isScheduled = false;
  #lanes = new Map<object, Lane>();

  /** Whether work of a deployment may start immediately. Pending work of the deployment goes first. */
  mayBegin(of: object): boolean {
    return this.#usedMs < TURN_MS && (this.#lanes.size === 0 || !this.#lanes.has(of));
  }

  /** Queues work, and starts it in its turn. */
  defer(of: object, begin: () => void): void {
    const lane = this.#lanes.get(of);
    if (lane === undefined) this.#lanes.set(of, { of, waiting: [begin] });
    else lane.waiting.push(begin);
    this.#schedule();
  }

  /** Reports how much time of the main thread was used. */
  used(ms: number): void {
    this.#usedMs += ms;
    this.#schedule();
  }

  /** Runs work that is too long to share a tick, in a separate turn. */
  piece<Result>(of: object, work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.defer(of, () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#turn);
  }

  #turn = (): void => {
    this.#isScheduled = false;
    this.#usedMs = 0;
    const began = performance.now();
    // Runs one piece of work of each deployment, then the next one of each.
    while (this.#lanes.size > 0) {
      const [lane] = this.#lanes.values() as Iterator<Lane> & Iterable<Lane>;
      const { of, waiting } = lane as Lane;
      this.#lanes.delete(of);
      const begin = waiting.shift() as () => void;
      if (waiting.length > 0) this.#lanes.set(of, lane as Lane);
      begin();
      if (performance.now() - began >= TURN_MS) break;
    }
    this.#usedMs = 0;
    if (this.#lanes.size > 0) this.#schedule();
  };
}

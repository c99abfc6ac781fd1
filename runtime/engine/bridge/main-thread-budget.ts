// Limits how much of each event loop tick goes to calls of workers, with turns between deployments for the rest. The
// work is measured. One per engine; bridge/guest-calls.ts begins each host call with it.

/** Time per tick of the event loop. The next tick runs after other pending events. */
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

  /** Whether work of a deployment may begin at once. Its waiting work goes first. */
  mayBegin(of: object): boolean {
    return this.#usedMs < TURN_MS && (this.#lanes.size === 0 || !this.#lanes.has(of));
  }

  /** Begins work in its turn. */
  defer(of: object, begin: () => void): void {
    const lane = this.#lanes.get(of);
    if (lane === undefined) this.#lanes.set(of, { of, waiting: [begin] });
    else lane.waiting.push(begin);
    this.#schedule();
  }

  /** Reports used main thread time. */
  used(ms: number): void {
    this.#usedMs += ms;
    this.#schedule();
  }

  /** Runs a piece of work that is too long to share a tick, in its own turn. */
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
    // One piece of each deployment, then the next of each.
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

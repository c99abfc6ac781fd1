// How much of a turn of the event loop goes to the calls of workers: a bound over all of them, and turns between
// deployments for what does not fit. What it begins is measured. One per engine; bridge/guest-calls.ts begins each host
// call with it.

/** Time of one turn of the event loop. The next one begins after whatever else has come meanwhile. */
const TURN_MS = 2;

/** What one deployment has waiting, in its order. */
interface Lane {
  readonly of: object;
  readonly waiting: (() => void)[];
}

export class MainTurns {
  #usedMs = 0;
  #isScheduled = false;
  #lanes = new Map<object, Lane>();

  /** Whether work of a deployment may begin at once. What of it waits goes first. */
  mayBegin(of: object): boolean {
    return this.#usedMs < TURN_MS && (this.#lanes.size === 0 || !this.#lanes.has(of));
  }

  /** Has work begin in its turn. */
  defer(of: object, begin: () => void): void {
    const lane = this.#lanes.get(of);
    if (lane === undefined) this.#lanes.set(of, { of, waiting: [begin] });
    else lane.waiting.push(begin);
    this.#schedule();
  }

  /** Main thread time was spent. */
  used(ms: number): void {
    this.#usedMs += ms;
    this.#schedule();
  }

  /** A piece of work that is too long for one turn together with others, in its own turn. */
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

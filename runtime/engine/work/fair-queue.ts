// A queue that is fair between deployments: each waiting deployment gets one piece of work done before any deployment
// gets another. Used by host-work.ts for the threads that work for workers, so that one deployment's queue does not
// delay others.

/** Limits of a queue. */
interface FairQueueLimits {
  /** Maximum number of concurrent pieces of work. */
  readonly runningMax: number;
  /**
   * Maximum number of concurrent pieces of one deployment; fewer than the total, so that a slot is always left for
   * others.
   */
  readonly laneRunningMax: number;
}

interface Lane {
  readonly waiting: (() => void)[];
  running: number;
}

export class FairQueue {
  #limits: FairQueueLimits;
  #lanes = new Map<object, Lane>();
  /** Lanes with waiting work, in the order of their turns. */
  #turns: Lane[] = [];
  #running = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  /**
   * Runs a piece of work in its turn, or immediately if there is room. @param of the deployment, which is the key for
   * fairness.
   */
  async run<Result>(of: object, work: () => Promise<Result>): Promise<Result> {
    let lane = this.#lanes.get(of);
    if (lane === undefined) this.#lanes.set(of, (lane = { waiting: [], running: 0 }));
    if (lane.waiting.length > 0 || !this.#mayRun(lane)) {
      const { waiting } = lane;
      if (waiting.length === 0) this.#turns.push(lane);
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else this.#begin(lane);
    try {
      return await work();
    } finally {
      lane.running--;
      this.#running--;
      if (lane.running === 0 && lane.waiting.length === 0) this.#lanes.delete(of);
      this.#next();
    }
  }

  #mayRun(lane: Lane): boolean {
    return this.#running < this.#limits.runningMax && lane.running < this.#limits.laneRunningMax;
  }

  #begin(lane: Lane): void {
    lane.running++;
    this.#running++;
  }

  #next(): void {
    for (let looked = 0; looked < this.#turns.length && this.#running < this.#limits.runningMax;) {
      const lane = this.#turns.shift() as Lane;
      if (!this.#mayRun(lane)) {
        this.#turns.push(lane);
        looked++;
        continue;
      }
      this.#begin(lane);
      (lane.waiting.shift() as () => void)();
      if (lane.waiting.length > 0) this.#turns.push(lane);
    }
  }
}

// How many requests each deployment may have while the engine has more than it can serve: all the same number, so that
// the greediest are refused first and the modest notice nothing. handler.ts looks a few times a second; a request
// compares one number. Pure.

/** What saturates an engine. */
interface SheddingLimits {
  /** Requests of all deployments that run or wait. */
  readonly engineRequestsMax: number;
  /** How long its event loop may be late, twice in a row. */
  readonly engineLagMsMax: number;
}

/** Fewer requests than this are not the reason of a late event loop. */
const LATE_LOAD_MIN = 64;

/**
 * The largest number that all may have so that they have `bound` together; at least 1.
 *
 * @example fairShare([500, 30, 2], 100) // 68
 */
export function fairShare(loads: readonly number[], bound: number): number {
  const sorted = loads.toSorted((a, b) => a - b);
  let rest = bound;
  for (const [at, load] of sorted.entries()) {
    const share = rest / (sorted.length - at);
    if (load > share) return Math.max(1, Math.floor(share));
    rest -= load;
  }
  return Number.POSITIVE_INFINITY;
}

export class Shedder {
  #limits: SheddingLimits;
  #late = 0;
  /** Requests that each deployment may have; infinite while nothing is shed. */
  share = Number.POSITIVE_INFINITY;

  constructor(limits: SheddingLimits) {
    this.#limits = limits;
  }

  /** @param loads requests of each deployment. @param lagMs how much later than planned this look comes. */
  look(loads: readonly number[], lagMs: number): number {
    const total = loads.reduce((sum, load) => sum + load, 0);
    this.#late = lagMs > this.#limits.engineLagMsMax && total >= LATE_LOAD_MIN ? this.#late + 1 : 0;
    if (this.#late >= 2) this.share = fairShare(loads, Math.floor(total / 2));
    else if (total >= this.#limits.engineRequestsMax) {
      const most = loads.reduce((max, load) => Math.max(max, load), 1);
      this.share = Math.min(most, fairShare(loads, this.#limits.engineRequestsMax));
    } else if (this.share !== Number.POSITIVE_INFINITY) {
      // Back in steps: all at once would bring back what was shed.
      this.share *= 2;
      if (this.share > this.#limits.engineRequestsMax) this.share = Number.POSITIVE_INFINITY;
    }
    return this.share;
  }
}

// Limits the requests of each deployment while the engine is overloaded. All deployments get the same limit, so that
// requests of the busiest are refused first, and others are not affected. handler.ts computes the limit a few times a
// second; for a request, only one number is compared. Pure.

/** Limits above which an engine is overloaded. */
interface SheddingLimits {
  /** Maximum number of running and waiting requests of all deployments. */
  readonly engineRequestsMax: number;
  /** An event loop delay of this length, twice in a row, is overload. */
  readonly engineLagMsMax: number;
}

/** If there are fewer requests than this, they are not the cause of an event loop delay. */
const LATE_LOAD_MIN = 64;

/**
 * The largest equal limit per deployment that keeps the total within `bound`; at least 1.
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
  /** How many requests a deployment may have; infinite while no requests are refused. */
  share = Number.POSITIVE_INFINITY;

  constructor(limits: SheddingLimits) {
    this.#limits = limits;
  }

  /** @param loads the number of requests of each deployment. @param lagMs how late this call is. */
  look(loads: readonly number[], lagMs: number): number {
    const total = loads.reduce((sum, load) => sum + load, 0);
    this.#late = lagMs > this.#limits.engineLagMsMax && total >= LATE_LOAD_MIN ? this.#late + 1 : 0;
    if (this.#late >= 2) this.share = fairShare(loads, Math.floor(total / 2));
    else if (total >= this.#limits.engineRequestsMax) {
      const most = loads.reduce((max, load) => Math.max(max, load), 1);
      this.share = Math.min(most, fairShare(loads, this.#limits.engineRequestsMax));
    } else if (this.share !== Number.POSITIVE_INFINITY) {
      // The limit is raised in steps, because removing it immediately would bring the overload back.
      this.share *= 2;
      if (this.share > this.#limits.engineRequestsMax) this.share = Number.POSITIVE_INFINITY;
    }
    return this.share;
  }
}

// Leases of durable objects if one process has all objects, as in `platform dev` and an engine without Postgres.
import type { ObjectLeases } from '../../bindings/object-leases.ts';

/** The number of a holder is the time, so that it also increases with restarts. */
export function createLocalLeases(now: () => number = Date.now): ObjectLeases {
  let last = 0;
  return {
    isValid: () => true,
    acquire() {
      last = Math.max(last + 1, now() * 1000);
      return Promise.resolve(last);
    },
    release() {},
    others: () => Promise.resolve([]),
    lapsed() {},
  };
}

// Budget reservations in memory. A call reserves from every limit that applies to it, or from none. Reserving is
// synchronous, so concurrent calls see each other's reservations.
import type { Caller, Ledger, Spend } from '../contract/contract.ts';
import type { Limit, LimitsOf } from './accounts.ts';
import { amountOf, applies, keyOf, nearest, refusalOf, type Room } from './room.ts';
import { windowOf } from './window.ts';

interface Counter {
  readonly endsAt: number;
  used: number;
  reserved: number;
}

interface Applied extends Room {
  readonly counter: Counter;
}

const SWEEP_AT_LEAST = 1000;

export function createMemoryLedger({
  now,
  limitsOf,
}: {
  readonly now: () => number;
  readonly limitsOf: LimitsOf;
}): Ledger {
  const counters = new Map<string, Counter>();
  let sweepAt = SWEEP_AT_LEAST;

  const apply = (caller: Caller, limit: Limit): Applied[] => {
    const key = keyOf(caller, limit);
    if (key === null) return [];
    const kept = counters.get(key);
    if (kept !== undefined && kept.endsAt > now()) return [{ limit, counter: kept }];
    const counter = { endsAt: windowOf(limit.per, now()).endsAt, used: 0, reserved: 0 };
    counters.set(key, counter);
    return [{ limit, counter }];
  };
  const sweep = (): void => {
    if (counters.size < sweepAt) return;
    for (const [key, { endsAt }] of counters) if (endsAt <= now()) counters.delete(key);
    sweepAt = Math.max(SWEEP_AT_LEAST, counters.size * 2);
  };

  return {
    reserve(caller, estimate) {
      sweep();
      const applied = limitsOf(caller)
        .filter((limit) => applies(limit, estimate))
        .flatMap((limit) => apply(caller, limit));
      for (const one of applied) {
        const refusal = refusalOf(one, amountOf(one.limit, estimate), now());
        if (refusal !== null) return Promise.resolve(refusal);
      }
      for (const { limit, counter } of applied) {
        const amount = amountOf(limit, estimate);
        if (amount === null) counter.used += 1;
        else counter.reserved += amount;
      }
      let isSettled = false;
      return Promise.resolve({
        isBounded: applied.some(({ limit }) => limit.of !== 'requests'),
        requests: nearest(applied, 'requests', now()),
        tokens: nearest(applied, 'tokens', now()),
        settle(used: Spend | null) {
          if (isSettled) return;
          isSettled = true;
          for (const { limit, counter } of applied) {
            counter.reserved -= amountOf(limit, estimate) ?? 0;
            if (used !== null) counter.used += amountOf(limit, used) ?? 0;
          }
        },
      });
    },
  };
}

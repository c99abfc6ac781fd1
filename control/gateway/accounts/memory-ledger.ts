// Room for calls, in memory: a call takes from every limit that applies to it, or from none. Taking is one step without
// a pause in it, so that calls at the same moment see each other.
import type { Caller, Ledger, Refusal, Remaining, TokenCount } from '../contract.ts';
import type { Limit, LimitsOf } from './accounts.ts';
import { windowOf } from './window.ts';

/** One limit in one window. */
interface Counter {
  readonly endsAt: number;
  used: number;
  /** For calls under way. */
  reserved: number;
}

interface Applied {
  readonly limit: Limit;
  readonly counter: Counter;
}

const BUSY_RETRY_MS = 1000;
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
    const owner = ownerOf(caller, limit);
    if (owner === null) return [];
    const key = `${limit.scope} ${owner} ${limit.of} ${limit.per}`;
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
      const applied = limitsOf(caller).flatMap((limit) => apply(caller, limit));
      const tokens = estimate.promptTokens + estimate.completionTokens;
      for (const one of applied) {
        const refusal = refusalOf(one, tokens, now());
        if (refusal !== null) return Promise.resolve(refusal);
      }
      for (const { limit, counter } of applied) {
        if (limit.of === 'requests') counter.used += 1;
        else counter.reserved += tokens;
      }
      let isSettled = false;
      return Promise.resolve({
        isBounded: applied.some(({ limit }) => limit.of === 'tokens'),
        requests: nearest(applied, 'requests', now()),
        tokens: nearest(applied, 'tokens', now()),
        settle(used: TokenCount | null) {
          if (isSettled) return;
          isSettled = true;
          for (const { limit, counter } of applied) {
            if (limit.of === 'requests') continue;
            counter.reserved -= tokens;
            if (used !== null) counter.used += used.promptTokens + used.completionTokens;
          }
        },
      });
    },
  };
}

function ownerOf(caller: Caller, { scope }: Limit): string | null {
  if (scope === 'organization') return caller.organizationId;
  return scope === 'project' ? caller.projectId : caller.deploymentId;
}

/** A call that is larger than all that is left passes where it is the only one: it passes the limit alone. */
function refusalOf({ limit, counter }: Applied, tokens: number, at: number): Refusal | null {
  const { used, reserved, endsAt } = counter;
  const isRequests = limit.of === 'requests';
  const fits = isRequests ? used < limit.most : used + reserved + tokens <= limit.most;
  if (fits || (!isRequests && reserved === 0 && used < limit.most)) return null;
  const message = `${limit.of} per ${limit.per} of the ${limit.scope}: ${used} of ${limit.most} used`;
  if (used < limit.most)
    return {
      code: 'rate_limit_exceeded',
      message: `${message}, the rest is reserved for calls under way`,
      retryAfterMs: BUSY_RETRY_MS,
    };
  if (limit.per === 'minute') return { code: 'rate_limit_exceeded', message, retryAfterMs: endsAt - at };
  return { code: 'insufficient_quota', message, retryAfterMs: null };
}

function nearest(applied: readonly Applied[], of: Limit['of'], at: number): Remaining | null {
  let found: Remaining | null = null;
  for (const { limit, counter } of applied) {
    if (limit.of !== of) continue;
    const remaining = Math.max(0, limit.most - counter.used - counter.reserved);
    if (found === null || remaining < found.remaining)
      found = { limit: limit.most, remaining, resetMs: counter.endsAt - at };
  }
  return found;
}

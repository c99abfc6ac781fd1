// Checks a limit for a call: whether it fits, or the reason why not. Shared by the memory and Postgres ledgers. Pure.
import type { Caller, Refusal, Remaining } from '../contract/contract.ts';
import type { Limit } from './accounts.ts';

/** One limit in one window. */
export interface Room {
  readonly limit: Limit;
  readonly counter: {
    /** ms since 1970. */
    readonly endsAt: number;
    readonly used: number;
    /** Reserved for calls in progress. */
    readonly reserved: number;
  };
}

const BUSY_RETRY_MS = 1000;

/** Key of its counter; null: it does not apply to this caller. */
export function keyOf(caller: Caller, limit: Limit): string | null {
  const owner = ownerOf(caller, limit);
  return owner === null ? null : `${limit.scope} ${owner} ${limit.of} ${limit.per}`;
}

function ownerOf(caller: Caller, { scope }: Limit): string | null {
  if (scope === 'organization') return caller.organizationId;
  if (scope === 'key') return caller.keyId ?? null;
  return scope === 'project' ? caller.projectId : caller.deploymentId;
}

/**
 * Why a call exceeds this limit; null: it fits. A call larger than the remaining budget is admitted if it is the only
 * one in progress: it alone passes the limit.
 */
export function refusalOf({ limit, counter }: Room, tokens: number, at: number): Refusal | null {
  const { used, reserved, endsAt } = counter;
  const isRequests = limit.of === 'requests';
  const fits = isRequests ? used < limit.most : used + reserved + tokens <= limit.most;
  if (fits || (!isRequests && reserved === 0 && used < limit.most)) return null;
  const remaining = Math.max(0, limit.most - used - reserved);
  const told = { of: limit.of, left: { limit: limit.most, remaining, resetMs: endsAt - at } };
  const message = `${limit.of} per ${limit.per} of the ${limit.scope}: ${used} of ${limit.most} used`;
  if (used < limit.most)
    return {
      code: 'rate_limit_exceeded',
      message: `${message}, the rest is reserved for running calls`,
      retryAfterMs: BUSY_RETRY_MS,
      ...told,
    };
  if (limit.per === 'minute') return { code: 'rate_limit_exceeded', message, retryAfterMs: endsAt - at, ...told };
  return { code: 'insufficient_quota', message, retryAfterMs: null, ...told };
}

/** The limit that is reported to the caller. */
export function nearest(rooms: readonly Room[], of: Limit['of'], at: number): Remaining | null {
  let found: Remaining | null = null;
  for (const { limit, counter } of rooms) {
    if (limit.of !== of) continue;
    const remaining = Math.max(0, limit.most - counter.used - counter.reserved);
    if (found === null || remaining < found.remaining)
      found = { limit: limit.most, remaining, resetMs: counter.endsAt - at };
  }
  return found;
}

// What a limit says to a call: room, or why there is none. The memory form and the Postgres form of the ledger give the
// same answers by it. Pure.
import type { Caller, Refusal, Remaining } from '../contract/contract.ts';
import type { Limit } from './accounts.ts';

/** One limit in one window. */
export interface Room {
  readonly limit: Limit;
  readonly counter: {
    /** ms since 1970. */
    readonly endsAt: number;
    readonly used: number;
    /** For calls under way. */
    readonly reserved: number;
  };
}

const BUSY_RETRY_MS = 1000;

/** What it is counted under; null: it does not apply to this caller. */
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
 * Why a call gets no room of this one; null: it does. A call that is larger than all that is left passes where it is
 * the only one: it passes the limit alone.
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
      message: `${message}, the rest is reserved for calls under way`,
      retryAfterMs: BUSY_RETRY_MS,
      ...told,
    };
  if (limit.per === 'minute') return { code: 'rate_limit_exceeded', message, retryAfterMs: endsAt - at, ...told };
  return { code: 'insufficient_quota', message, retryAfterMs: null, ...told };
}

/** The one that a caller is told of. */
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

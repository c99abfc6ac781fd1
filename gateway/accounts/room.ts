// Checks whether a call fits into a limit, and returns the reason if it does not. Shared by the memory and Postgres
// ledgers. Pure.
import type { Caller, Refusal, Remaining, Spend } from '../contract/contract.ts';
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
const MICROS = 1_000_000;

/** Key of the limit's counter; null if the limit does not apply to this caller. */
export function keyOf(caller: Caller, limit: Limit): string | null {
  const owner = ownerOf(caller, limit);
  return owner === null ? null : counterKey(limit, owner);
}

/** @param owner the id of the scope's owner. */
export const counterKey = ({ scope, of, per }: Omit<Limit, 'most'>, owner: string): string =>
  `${scope} ${owner} ${of} ${per}`;

/** Amount of a limit that a call uses; null means one request. */
export function amountOf({ of }: Limit, { promptTokens, completionTokens, costMicros }: Spend): number | null {
  if (of === 'requests') return null;
  return of === 'tokens' ? promptTokens + completionTokens : costMicros;
}

/** Calls that cost nothing pass every limit on cost. */
export const applies = ({ of }: Limit, { costMicros }: Spend): boolean => of !== 'cost' || costMicros > 0;

function ownerOf(caller: Caller, { scope }: Limit): string | null {
  if (scope === 'organization') return caller.organizationId;
  if (scope === 'key') return caller.keyId ?? null;
  return scope === 'project' ? caller.projectId : caller.deploymentId;
}

/**
 * Why a call exceeds this limit; null means it fits. A call larger than the remaining budget is admitted if it is the
 * only call in progress, which can exceed the limit.
 *
 * @param amount the amount, as {@link amountOf} returns it.
 */
export function refusalOf({ limit, counter }: Room, amount: number | null, at: number): Refusal | null {
  const { used, reserved, endsAt } = counter;
  const fits = amount === null ? used < limit.most : used + reserved + amount <= limit.most;
  if (fits || (amount !== null && reserved === 0 && used < limit.most)) return null;
  const remaining = Math.max(0, limit.most - used - reserved);
  const told = { of: limit.of, left: { limit: limit.most, remaining, resetMs: endsAt - at } };
  const [usedText, mostText] = [used, limit.most].map((value) => (limit.of === 'cost' ? value / MICROS : value));
  const message = `${limit.of} per ${limit.per} of the ${limit.scope}: ${usedText} of ${mostText} used`;
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

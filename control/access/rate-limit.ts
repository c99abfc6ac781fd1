// Rate limits: counts requests by caller in windows of a minute (control.rate, an unlogged table).
import type { ControlLimits } from '#core/limits.ts';
import type { Sql } from '#postgres/sql.ts';
import { networkOf } from '../http/client-address.ts';
import { ApiError } from '../http/errors.ts';
import type { Actor } from './actor.ts';

const WINDOW_SECONDS = 60;

/** The state of a rate limit after a request. */
interface Rate {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends. */
  readonly resetSeconds: number;
}

/** Counts a request by token, account or address. Returns null if none of the keys exists. */
export async function countActor(
  { sql, limits }: { readonly sql: Sql; readonly limits: ControlLimits },
  actor: Actor | null,
  address: string | null,
): Promise<(Rate & { readonly isOver: boolean }) | null> {
  if (actor === null)
    return address === null
      ? null
      : countRequest(sql, `address:${networkOf(address)}`, limits.anonymousRequestsPerMinute);
  const who = actor.token === null ? `account:${actor.accountId}` : `token:${actor.token.id}`;
  return countRequest(sql, who, limits.requestsPerMinute);
}

/** Counts a request. @param who the caller, such as `token:tok_1` or `address:192.0.2.1`. */
async function countRequest(sql: Sql, who: string, limit: number): Promise<Rate & { readonly isOver: boolean }> {
  const [row] = await sql<{ count: number; left: number }[]>`
    INSERT INTO control.rate AS rate (key, window_start, count)
    VALUES (${`api:${who}`}, to_timestamp(floor(extract(epoch FROM now()) / ${WINDOW_SECONDS}) * ${WINDOW_SECONDS}), 1)
    ON CONFLICT (key, window_start) DO UPDATE SET count = rate.count + 1
    RETURNING count, greatest(1, ceil(extract(epoch FROM window_start) + ${WINDOW_SECONDS} - extract(epoch FROM now())))::int AS left`;
  const { count, left } = row!;
  return { limit, remaining: Math.max(0, limit - count), resetSeconds: left, isOver: count > limit };
}

/** The error for a request beyond the limit. */
export function tooMany({ resetSeconds }: Rate): ApiError {
  return new ApiError('rate_limited', { seconds: resetSeconds }, { 'retry-after': String(resetSeconds) });
}

/** Sets the rate limit headers of a response. */
export function describeRate(headers: Headers, { limit, remaining, resetSeconds }: Rate): void {
  headers.set('ratelimit-limit', String(limit));
  headers.set('ratelimit-remaining', String(remaining));
  headers.set('ratelimit-reset', String(resetSeconds));
}

/** Deletes past windows. */
export async function sweepRates(sql: Sql): Promise<void> {
  await sql`DELETE FROM control.rate WHERE window_start < now() - interval '5 minutes' AND key LIKE 'api:%'`;
}

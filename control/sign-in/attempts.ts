// Bounds how often somebody may try: counts attempts in control.rate by what they are for and who makes them, in
// windows of time. Used where something could be guessed: tokens, codes, states.
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';

/** A bound: so many attempts in so many seconds. */
export interface AttemptBound {
  readonly most: number;
  readonly seconds: number;
}

/** Bounds by what is tried. Each is counted by address, `code` by account as well. */
export const attemptBounds = {
  /** Starting and ending a sign-in at the Git host. */
  'sign-in': { most: 30, seconds: 300 },
  /** Tokens typed into the sign-in page. */
  token: { most: 10, seconds: 300 },
  /** Codes typed into the page for devices. */
  code: { most: 10, seconds: 300 },
  /** Device codes that are made. */
  device: { most: 20, seconds: 300 },
  /** Codes that are exchanged for a token; a device polls every five seconds. */
  exchange: { most: 180, seconds: 300 },
} as const satisfies Record<string, AttemptBound>;

/**
 * Counts an attempt.
 *
 * @param who address or account.
 * @throws {ApiError} `rate_limited` with `retry-after`, when there were too many.
 */
export async function countAttempt(sql: Sql, what: keyof typeof attemptBounds, who: string): Promise<void> {
  const { most, seconds } = attemptBounds[what];
  const [row] = await sql<{ count: number; left: number }[]>`
    INSERT INTO control.rate (key, window_start, count)
    VALUES (${`${what}:${who}`}, to_timestamp(floor(extract(epoch FROM now()) / ${seconds}) * ${seconds}), 1)
    ON CONFLICT (key, window_start) DO UPDATE SET count = control.rate.count + 1
    RETURNING count, ceil(extract(epoch FROM window_start) + ${seconds} - extract(epoch FROM now()))::int AS left`;
  if (row!.count <= most) return;
  throw new ApiError('rate_limited', { seconds: row!.left }, { 'retry-after': String(row!.left) });
}

/** Forgets windows that are over. */
export async function sweepAttempts(sql: Sql): Promise<void> {
  const longest = Math.max(...Object.values(attemptBounds).map(({ seconds }) => seconds));
  await sql`
    DELETE FROM control.rate WHERE window_start < now() - make_interval(secs => ${longest})
      AND split_part(key, ':', 1) = ANY(${Object.keys(attemptBounds)})`;
}

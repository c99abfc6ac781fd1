// Limits attempts by kind and caller, in time windows (control.rate). Used for everything that could be guessed:
// tokens, codes, states.
import type { Sql } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';

/** A limit: attempts per number of seconds. */
interface AttemptLimit {
  readonly most: number;
  readonly seconds: number;
}

/**
 * Limits by kind. Most attempts are counted by client address, `mail` and `factor` by account, `code` and `password` by
 * both.
 */
const attemptLimits = {
  /** Starting and ending a sign-in at the Git host. */
  'sign-in': { most: 30, seconds: 300 },
  /** Tokens typed into the sign-in page. */
  token: { most: 10, seconds: 300 },
  /** Password attempts, by address, and attempts with the current password by account. */
  password: { most: 10, seconds: 300 },
  /**
   * Passwords and recovery of a username: from all addresses, and from each browser that has signed in to the account.
   */
  username: { most: 20, seconds: 900 },
  /** Codes of second factors, by account. */
  factor: { most: 10, seconds: 900 },
  /** Challenges and responses of passkeys: by address to sign in, by account to add a passkey. */
  passkey: { most: 60, seconds: 300 },
  /** Recovery of passwords. */
  recovery: { most: 10, seconds: 900 },
  /** Codes typed into the page for devices. */
  code: { most: 10, seconds: 300 },
  /** Issued device codes. */
  device: { most: 20, seconds: 300 },
  /** Deploy keys that an account generates. */
  'deploy-key': { most: 20, seconds: 3600 },
  /** Emails that an account lets the platform send. */
  mail: { most: 30, seconds: 3600 },
  /** Codes exchanged for a token; a device polls every five seconds. */
  exchange: { most: 180, seconds: 300 },
} as const satisfies Record<string, AttemptLimit>;

/**
 * Counts an attempt.
 *
 * @param who address or account.
 * @throws {ApiError} `rate_limited` with `retry-after` beyond the limit.
 */
export async function countAttempt(sql: Sql, what: keyof typeof attemptLimits, who: string): Promise<void> {
  const { most, seconds } = attemptLimits[what];
  const [row] = await sql<{ count: number; left: number }[]>`
    INSERT INTO control.rate (key, window_start, count)
    VALUES (${`${what}:${who}`}, to_timestamp(floor(extract(epoch FROM now()) / ${seconds}) * ${seconds}), 1)
    ON CONFLICT (key, window_start) DO UPDATE SET count = control.rate.count + 1
    RETURNING count, ceil(extract(epoch FROM window_start) + ${seconds} - extract(epoch FROM now()))::int AS left`;
  if (row!.count <= most) return;
  throw new ApiError('rate_limited', { seconds: row!.left }, { 'retry-after': String(row!.left) });
}

/** Deletes past windows. */
export async function sweepAttempts(sql: Sql): Promise<void> {
  const longest = Math.max(...Object.values(attemptLimits).map(({ seconds }) => seconds));
  await sql`
    DELETE FROM control.rate WHERE window_start < now() - make_interval(secs => ${longest})
      AND split_part(key, ':', 1) = ANY(${Object.keys(attemptLimits)})`;
}

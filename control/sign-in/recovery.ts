// Links that set a new password once: an operator creates them, or the platform sends them to a proven address.
import type { Sql, Transaction } from '#postgres/sql.ts';
import { holdOnce, makeOnce, onceHash } from './single-use.ts';

/** Purpose of a link. */
interface Recovery extends Record<string, string | boolean> {
  readonly accountId: string;
  /** Whether the link also turns off two-factor authentication: only links of operators do. */
  readonly removesFactor: boolean;
}

/** @param seconds the number of seconds until the link expires. @returns the link. */
export async function makeRecoveryUrl(
  sql: Sql | Transaction,
  ui: string,
  recovery: Recovery,
  seconds: number,
): Promise<string> {
  const code = await makeOnce(sql, 'recovery', recovery, seconds);
  return `${ui}/api/auth/recovery/set?${new URLSearchParams({ code })}`;
}

/** An open link, locked until the transaction ends; null if it is unknown, used or expired. */
export function holdRecovery(tx: Transaction, code: string): Promise<Recovery | null> {
  return holdOnce<Recovery>(tx, 'recovery', onceHash('recovery', code));
}

/** Ends all links of an account. */
export async function endRecovery(tx: Transaction, accountId: string): Promise<void> {
  await tx`DELETE FROM control.single_use WHERE kind = 'recovery' AND content->>'accountId' = ${accountId}`;
}

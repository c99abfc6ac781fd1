// Second factors of accounts: control.second_factor and control.recovery_code. A code is accepted once.
import { randomBytes } from 'node:crypto';
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { hashOf } from '../access/secrets.ts';
import { base32, stepOf } from '../access/totp.ts';

const SECRET_BYTES = 20;
const CODES = 10;
const CODE_BYTES = 10;

/** Encryption context of a secret. */
export function factorContext(accountId: string): string {
  return `second-factor:${accountId}`;
}

/** Whether an account has a second factor that it has confirmed. */
export async function hasSecondFactor(sql: Sql | Transaction, accountId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM control.second_factor WHERE account_id = ${accountId} AND confirmed_at IS NOT NULL`;
  return rows.length > 0;
}

/**
 * Creates the secret of an account, or returns the secret that the account has not confirmed yet.
 *
 * @returns the secret; null if the account has already confirmed one.
 */
export async function beginFactor(tx: Transaction, keys: EncryptionKeys, accountId: string): Promise<Buffer | null> {
  const sealed = seal(keys, randomBytes(SECRET_BYTES).toString('base64'), factorContext(accountId));
  await tx`
    INSERT INTO control.second_factor (account_id, secret) VALUES (${accountId}, ${sealed})
    ON CONFLICT (account_id) DO NOTHING`;
  const row = await holdFactor(tx, keys, accountId);
  return row === null || row.isConfirmed ? null : row.secret;
}

/** Confirms a factor with a code. @returns the recovery codes; null if the code is wrong. */
export async function confirmFactor(
  tx: Transaction,
  keys: EncryptionKeys,
  accountId: string,
  code: string,
): Promise<readonly string[] | null> {
  const row = await holdFactor(tx, keys, accountId);
  if (row === null || row.isConfirmed || !(await takeStep(tx, accountId, row, code))) return null;
  await tx`UPDATE control.second_factor SET confirmed_at = now() WHERE account_id = ${accountId}`;
  return renewRecoveryCodes(tx, accountId);
}

/**
 * Uses a code of the app, or a recovery code. @returns which of the two it was; null if the code is wrong or was used
 * before.
 */
export async function useCode(
  tx: Transaction,
  keys: EncryptionKeys,
  accountId: string,
  typed: string,
): Promise<'app' | 'recovery' | null> {
  const row = await holdFactor(tx, keys, accountId);
  if (row === null || !row.isConfirmed) return null;
  if (await takeStep(tx, accountId, row, typed.replace(/\s/g, ''))) return 'app';
  const { count } = await tx`
    DELETE FROM control.recovery_code WHERE account_id = ${accountId} AND hash = ${hashOf(plainOf(typed))}`;
  return count === 1 ? 'recovery' : null;
}

/** Replaces the recovery codes of an account. @returns the new codes, to be shown once. */
export async function renewRecoveryCodes(tx: Transaction, accountId: string): Promise<readonly string[]> {
  await tx`DELETE FROM control.recovery_code WHERE account_id = ${accountId}`;
  const codes = Array.from({ length: CODES }, () =>
    base32(randomBytes(CODE_BYTES))
      .toLowerCase()
      .replace(/.{4}(?!$)/g, '$&-'),
  );
  for (const code of codes)
    await tx`INSERT INTO control.recovery_code (hash, account_id) VALUES (${hashOf(plainOf(code))}, ${accountId})`;
  return codes;
}

/** Counts the unused recovery codes of an account. */
export async function countRecoveryCodes(sql: Sql, accountId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int FROM control.recovery_code WHERE account_id = ${accountId}`;
  return row!.count;
}

/** Removes the second factor of an account, with its recovery codes. */
export async function removeFactor(tx: Transaction, accountId: string): Promise<void> {
  await tx`DELETE FROM control.second_factor WHERE account_id = ${accountId}`;
}

interface Held {
  readonly secret: Buffer;
  readonly lastStep: number;
  readonly isConfirmed: boolean;
}

/** The factor, locked until the transaction ends, so that only one of two requests with the same code succeeds. */
async function holdFactor(tx: Transaction, keys: EncryptionKeys, accountId: string): Promise<Held | null> {
  const [row] = await tx<{ secret: Buffer; last_step: string; confirmed_at: Date | null }[]>`
    SELECT secret, last_step::text, confirmed_at FROM control.second_factor WHERE account_id = ${accountId} FOR UPDATE`;
  if (row === undefined) return null;
  const secret = Buffer.from(unseal(keys, row.secret, factorContext(accountId)), 'base64');
  return { secret, lastStep: Number(row.last_step), isConfirmed: row.confirmed_at !== null };
}

/** Accepts a code of the app, if it is newer than the last accepted code. */
async function takeStep(
  tx: Transaction,
  accountId: string,
  { secret, lastStep }: Held,
  code: string,
): Promise<boolean> {
  const step = stepOf(secret, code, Date.now());
  if (step === null || step <= lastStep) return false;
  await tx`UPDATE control.second_factor SET last_step = ${step} WHERE account_id = ${accountId}`;
  return true;
}

function plainOf(code: string): string {
  return `recovery:${code.toLowerCase().replace(/[^a-z2-7]/g, '')}`;
}

// Passkeys of accounts: control.passkey. Callers verify them (sign-in/passkey-verification.ts).
import { randomBytes } from 'node:crypto';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { newId } from './ids.ts';

/** A passkey, as its account sees it. */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly created_at: Date;
  readonly used_at: Date | null;
  readonly credential_id: Buffer;
}

/** A passkey with the data that verifies it. */
export interface HeldPasskey {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: Buffer;
  readonly publicKey: Buffer;
  readonly counter: number;
  /** The account's id at authenticators. */
  readonly user: Buffer;
}

/** A passkey that an authenticator has created. */
export type NewPasskey = Pick<HeldPasskey, 'credentialId' | 'publicKey' | 'counter'>;

/** Passkeys of one account. */
export const PASSKEYS_MAX = 20;
const USER_BYTES = 32;

/** Whether any account has a passkey. */
export async function hasPasskeys(sql: Sql): Promise<boolean> {
  return (await sql`SELECT 1 FROM control.passkey LIMIT 1`).length > 0;
}

/** The passkeys of an account, the oldest first. */
export function listPasskeys(sql: Sql | Transaction, accountId: string): Promise<readonly Passkey[]> {
  return sql<Passkey[]>`
    SELECT id, name, created_at, used_at, credential_id FROM control.passkey
    WHERE account_id = ${accountId} ORDER BY created_at, id LIMIT ${PASSKEYS_MAX}`;
}

/** A new random id for authenticators. */
export function newPasskeyUser(): Buffer {
  return randomBytes(USER_BYTES);
}

/** The account's id at authenticators, which is created with its first passkey. */
export async function passkeyUserOf(sql: Sql, accountId: string): Promise<Buffer> {
  const [row] = await sql<{ passkey_user: Buffer }[]>`
    UPDATE control.account SET passkey_user = coalesce(passkey_user, ${newPasskeyUser()})
    WHERE id = ${accountId} RETURNING passkey_user`;
  return row!.passkey_user;
}

/** Sets the id of a new account at authenticators. */
export async function setPasskeyUser(tx: Transaction, accountId: string, user: Buffer): Promise<void> {
  await tx`UPDATE control.account SET passkey_user = ${user} WHERE id = ${accountId}`;
}

/**
 * The passkey of a credential, locked until the transaction ends, so that two concurrent uses see each other's counter.
 */
export async function holdPasskey(tx: Transaction, credentialId: Buffer): Promise<HeldPasskey | null> {
  const [row] = await tx<
    { id: string; account_id: string; public_key: Buffer; counter: string; passkey_user: Buffer }[]
  >`
    SELECT p.id, p.account_id, p.public_key, p.counter::text, a.passkey_user
    FROM control.passkey p JOIN control.account a ON a.id = p.account_id
    WHERE p.credential_id = ${credentialId} AND a.passkey_user IS NOT NULL FOR UPDATE OF p`;
  if (row === undefined) return null;
  return {
    id: row.id,
    accountId: row.account_id,
    credentialId,
    publicKey: row.public_key,
    counter: Number(row.counter),
    user: row.passkey_user,
  };
}

/** Adds a passkey. @returns why the passkey cannot be added; null if it is added. */
export async function addPasskey(
  tx: Transaction,
  accountId: string,
  name: string,
  { credentialId, publicKey, counter }: NewPasskey,
): Promise<'full' | 'known' | null> {
  await lockPasskeys(tx, accountId);
  if ((await listPasskeys(tx, accountId)).length >= PASSKEYS_MAX) return 'full';
  const added = await tx`
    INSERT INTO control.passkey (id, account_id, credential_id, public_key, counter, name)
    VALUES (${newId('passkey')}, ${accountId}, ${credentialId}, ${publicKey}, ${counter}, ${name})
    ON CONFLICT (credential_id) DO NOTHING`;
  return added.count === 1 ? null : 'known';
}

/** Records a sign-in. */
export async function notePasskeyUse(tx: Transaction, id: string, counter: number): Promise<void> {
  await tx`UPDATE control.passkey SET counter = ${counter}, used_at = now() WHERE id = ${id}`;
}

/** Renames a passkey; has no effect if the account has no such passkey. */
export async function renamePasskey(sql: Sql, accountId: string, id: string, name: string): Promise<void> {
  await sql`UPDATE control.passkey SET name = ${name} WHERE id = ${id} AND account_id = ${accountId}`;
}

/** Removes a passkey of an account. @returns whether the account had the passkey. */
export async function removePasskey(tx: Transaction, accountId: string, id: string): Promise<boolean> {
  const { count } = await tx`DELETE FROM control.passkey WHERE id = ${id} AND account_id = ${accountId}`;
  return count === 1;
}

/** Serializes changes of an account's passkeys until the transaction ends. */
export async function lockPasskeys(tx: Transaction, accountId: string): Promise<void> {
  await tx`SELECT 1 FROM control.account WHERE id = ${accountId} FOR NO KEY UPDATE`;
}

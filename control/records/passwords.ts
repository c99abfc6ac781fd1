// Passwords of accounts: control.password. Callers hash and verify the passwords (access/passwords.ts).
import type { Sql, Transaction } from '#postgres/sql.ts';

/** A stored password. */
interface PasswordRow {
  readonly account_id: string;
  readonly username: string;
  readonly hash: string;
}

/** Usernames are logins: they begin with a letter or digit, and are unique without regard to case. */
export const USERNAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$';

/** The password of a username. */
export async function findPassword(sql: Sql | Transaction, username: string): Promise<PasswordRow | null> {
  const [row] = await sql<PasswordRow[]>`
    SELECT account_id, username, hash FROM control.password WHERE lower(username) = ${username.toLowerCase()}`;
  return row ?? null;
}

/** The password of an account; null if it has none. */
export async function readPassword(sql: Sql | Transaction, accountId: string): Promise<PasswordRow | null> {
  const [row] = await sql<PasswordRow[]>`
    SELECT account_id, username, hash FROM control.password WHERE account_id = ${accountId}`;
  return row ?? null;
}

/** Whether any account has a password. */
export async function hasPasswords(sql: Sql): Promise<boolean> {
  return (await sql`SELECT 1 FROM control.password LIMIT 1`).length > 0;
}

/**
 * Whether an account may take a username: no other account has it, or a similar login. Serializes requests for the same
 * username until the transaction ends.
 *
 * @param accountId null for an account that is created in this transaction.
 */
export async function holdUsername(tx: Transaction, username: string, accountId: string | null): Promise<boolean> {
  const name = username.toLowerCase();
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`username:${name}`}, 0))`;
  const others = await tx`
    SELECT 1 FROM control.account WHERE lower(login) = ${name} AND id IS DISTINCT FROM ${accountId}
    UNION ALL
    SELECT 1 FROM control.password WHERE lower(username) = ${name} AND account_id IS DISTINCT FROM ${accountId}`;
  return others.length === 0;
}

/** Sets the password of an account, whose username the caller has locked. */
export async function putPassword(
  tx: Transaction,
  { accountId, username, hash }: { readonly accountId: string; readonly username: string; readonly hash: string },
): Promise<void> {
  await tx`
    INSERT INTO control.password (account_id, username, hash) VALUES (${accountId}, ${username}, ${hash})
    ON CONFLICT (account_id) DO UPDATE SET username = excluded.username, hash = excluded.hash, changed_at = now()`;
}

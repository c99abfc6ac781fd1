// Tokens that sign-in gives out: to the command line, and to the first admin.
import type { Sql, Transaction } from '#postgres/sql.ts';
import { hashOf, newId, newSecret } from '../records/ids.ts';
import { recordSignIn } from './audit.ts';

const HINT_CHARS = 8;

/** A token that was made: its secret is known here and nowhere else. */
export interface IssuedToken {
  readonly id: string;
  readonly secret: string;
}

/**
 * Makes a token with all rights of its account.
 *
 * @param days until it expires; null: never.
 */
export async function issueToken(
  tx: Sql | Transaction,
  { accountId, name, days }: { readonly accountId: string; readonly name: string; readonly days: number | null },
): Promise<IssuedToken> {
  const id = newId('token');
  const { secret, hash } = newSecret('plt');
  await tx`
    INSERT INTO control.token (id, hash, hint, name, account_id, scope, created_by, expires_at)
    VALUES (${id}, ${hash}, ${secret.slice(0, HINT_CHARS)}, ${name}, ${accountId}, 'admin', ${accountId},
      ${days === null ? null : tx`now() + make_interval(days => ${days})`})`;
  await recordSignIn(tx, accountId, 'token.create', id);
  return { id, secret };
}

/**
 * The account whose token this is, if a browser may sign in with it: a token with all rights of its account that never
 * expires, such as the one of the first start. A lesser one must not become a session, which has all rights.
 */
export async function accountOfSignInToken(sql: Sql, secret: string): Promise<string | null> {
  if (!/^[\x21-\x7e]{1,512}$/.test(secret)) return null;
  const [row] = await sql<{ account_id: string }[]>`
    SELECT account_id FROM control.token
    WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL AND expires_at IS NULL AND scope = 'admin'
      AND account_id IS NOT NULL AND organization_id IS NULL AND project_id IS NULL`;
  return row?.account_id ?? null;
}

/** Revokes a token by itself (RFC 7009); nothing happens when there is none such. */
export async function revokeSecret(sql: Sql, secret: string): Promise<void> {
  const [row] = await sql<{ id: string; account_id: string | null }[]>`
    UPDATE control.token SET revoked_at = now() WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL
    RETURNING id, account_id`;
  if (row?.account_id != null) await recordSignIn(sql, row.account_id, 'token.revoke', row.id);
}

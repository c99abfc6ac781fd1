// Tokens issued by sign-in: for the CLI, and for the first admin.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { SignedIn } from '../access/actor.ts';
import { hashOf } from '../access/secrets.ts';
import { addToken, type IssuedToken } from '../records/tokens.ts';
import { recordSignIn } from './audit.ts';

/**
 * Creates a token with all permissions of its account.
 *
 * @param days lifetime; null means never expires.
 * @returns null if the token used to sign in was revoked.
 */
export async function issueToken(
  tx: Transaction,
  { accountId, tokenId, name, days }: SignedIn & { readonly name: string; readonly days: number | null },
): Promise<IssuedToken | null> {
  const made = await addToken(tx, {
    accountId,
    name,
    days,
    organizationId: null,
    projectId: null,
    scope: 'admin',
    endsWith: tokenId === null ? null : { id: tokenId },
  });
  if (made !== null) await recordSignIn(tx, accountId, 'token.create', made.id);
  return made;
}

/**
 * The account and id of a token, if it may be used to sign in: it has all permissions of its account and never expires,
 * such as the first-run token. A token with a narrower scope must not become a session, which has all permissions.
 */
export async function accountOfSignInToken(sql: Sql, secret: string): Promise<SignedIn | null> {
  if (!/^[\x21-\x7e]{1,512}$/.test(secret)) return null;
  const [row] = await sql<{ id: string; account_id: string }[]>`
    SELECT id, account_id FROM control.token
    WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL AND expires_at IS NULL AND scope = 'admin'
      AND account_id IS NOT NULL AND organization_id IS NULL AND project_id IS NULL`;
  return row === undefined ? null : { accountId: row.account_id, tokenId: row.id };
}

/** Whether an account has a token that it can sign in with. */
export async function hasSignInToken(tx: Transaction, accountId: string): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM control.token
    WHERE account_id = ${accountId} AND revoked_at IS NULL AND expires_at IS NULL AND scope = 'admin'
      AND organization_id IS NULL AND project_id IS NULL LIMIT 1`;
  return rows.length > 0;
}

/** Revokes a token by its secret (RFC 7009); unknown tokens are ignored. */
export async function revokeSecret(sql: Sql, secret: string): Promise<void> {
  const [row] = await sql<{ id: string; account_id: string | null }[]>`
    UPDATE control.token SET revoked_at = now() WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL
    RETURNING id, account_id`;
  if (row?.account_id != null) await recordSignIn(sql, row.account_id, 'token.revoke', row.id);
}

// Tokens for programs: stored as SHA-256, shown once.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { TokenLife } from '../access/actor.ts';
import type { TokenScope } from '../access/permissions.ts';
import { newSecret } from '../access/secrets.ts';
import type { TimePage } from '../http/page.ts';
import { newId } from './ids.ts';
import { timestampOfColumn, newestFirst } from './timestamp.ts';

const HINT_CHARS = 8;

/** A row of control.token, without its hash. */
interface TokenRow {
  readonly id: string;
  readonly hint: string;
  readonly name: string;
  readonly account_id: string | null;
  readonly login: string | null;
  readonly organization_id: string | null;
  readonly project_id: string | null;
  readonly scope: TokenScope;
  readonly created_at: Date;
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  readonly position: string;
}

export const toToken = (row: TokenRow) => ({
  id: row.id,
  hint: row.hint,
  name: row.name,
  accountId: row.account_id,
  login: row.login,
  organizationId: row.organization_id,
  projectId: row.project_id,
  scope: row.scope,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
  lastUsedAt: row.last_used_at?.toISOString() ?? null,
});

/** Valid tokens of an account, or tokens bound to an organization, newest first. */
export async function listTokens(
  sql: Sql | Transaction,
  of: { readonly accountId: string } | { readonly organizationId: string } | { readonly id: string },
  page: TimePage,
): Promise<TokenRow[]> {
  const whose =
    'id' in of
      ? sql`t.id = ${of.id}`
      : 'accountId' in of
        ? sql`t.account_id = ${of.accountId}`
        : sql`t.organization_id = ${of.organizationId}`;
  return sql<TokenRow[]>`
    SELECT t.id, hint, t.name, account_id, login, organization_id, project_id, scope, t.created_at, expires_at,
      last_used_at, ${timestampOfColumn(sql, 't.created_at')} AS position
    FROM control.token t LEFT JOIN control.account a ON a.id = account_id
    WHERE ${whose} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      ${newestFirst(sql, page, 't.')}`;
}

/** A valid token. */
export async function readToken(sql: Sql | Transaction, id: string): Promise<TokenRow | undefined> {
  const [row] = await listTokens(sql, { id }, { count: 1, after: null });
  return row;
}

/** Scope and lifetime of a new token. */
interface NewToken {
  readonly name: string;
  readonly accountId: string;
  readonly organizationId: string | null;
  readonly projectId: string | null;
  readonly scope: TokenScope;
  /** Lifetime in days; null means that only the parent token limits it. */
  readonly days: number | null;
  /** The parent token: the new token is revoked with it and does not expire later. Null: none. */
  readonly endsWith: Pick<TokenLife, 'id'> | null;
}

/** A new token, with its secret, which is not stored. */
export interface IssuedToken {
  readonly id: string;
  readonly secret: string;
}

/** Creates a token. @returns null if the parent token is revoked or expired. */
export async function addToken(tx: Transaction, given: NewToken): Promise<IssuedToken | null> {
  const parent = given.endsWith === null ? null : await holdToken(tx, given.endsWith.id);
  if (given.endsWith !== null && parent === null) return null;
  const id = newId('token');
  const { secret, hash } = newSecret('plt');
  await tx`
    INSERT INTO control.token (id, hash, hint, name, account_id, organization_id, project_id, scope, created_by, parent_id, expires_at)
    VALUES (${id}, ${hash}, ${secret.slice(0, HINT_CHARS)}, ${given.name}, ${given.accountId}, ${given.organizationId},
      ${given.projectId}, ${given.scope}, ${given.accountId}, ${parent?.id ?? null},
      least(now() + make_interval(days => ${given.days}), ${parent?.expiresAt ?? null}))`;
  return { id, secret };
}

/** Locks a valid token against revocation until the transaction ends; null if it is not valid. */
async function holdToken(tx: Transaction, id: string): Promise<TokenLife | null> {
  const [row] = await tx<{ expires_at: Date | null }[]>`
    SELECT expires_at FROM control.token
    WHERE id = ${id} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) FOR SHARE`;
  return row === undefined ? null : { id, expiresAt: row.expires_at };
}

/** Whether a token is neither revoked nor expired. */
export async function isTokenAlive(sql: Sql, id: string): Promise<boolean> {
  const [row] = await sql`
    SELECT 1 FROM control.token WHERE id = ${id} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;
  return row !== undefined;
}

export async function countTokens(tx: Transaction, accountId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int FROM control.token
    WHERE account_id = ${accountId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;
  return row!.count;
}

/** Revokes a token; a trigger revokes the credentials that it created. */
export async function revokeToken(tx: Transaction, id: string): Promise<void> {
  await tx`UPDATE control.token SET revoked_at = now() WHERE id = ${id} AND revoked_at IS NULL`;
}

// The actor of a request: an account, authenticated by a session or token. The actor is looked up once, before routing.
import type { Sql } from '#postgres/sql.ts';
import { hashOf } from './secrets.ts';
import type { Role, TokenScope } from './permissions.ts';

/** An authenticated caller. */
export interface Actor {
  readonly accountId: string;
  readonly isOperator: boolean;
  /** Null for a session. */
  readonly token: {
    readonly id: string;
    readonly scope: TokenScope;
    readonly organizationId: string | null;
    readonly projectId: string | null;
  } | null;
  /** Null for a token. */
  readonly sessionId: string | null;
  /** Parent of the tokens that this actor creates: its own token, or the token used to sign in. */
  readonly endsWith: TokenLife | null;
  /** Role by organization id. */
  readonly memberships: Readonly<Record<string, Role>>;
}

/** Id and expiry of a parent token. */
export interface TokenLife {
  readonly id: string;
  /** Null: never expires. */
  readonly expiresAt: Date | null;
}

interface Row {
  readonly id: string;
  readonly scope: TokenScope;
  readonly account_id: string;
  readonly organization_id: string | null;
  readonly project_id: string | null;
  readonly expires_at: Date | null;
  readonly is_admin: boolean;
  readonly memberships: Record<string, Role> | null;
  readonly used_long_ago: boolean;
}

/** The actor of `Authorization: Bearer`; null if the token is unknown, expired or revoked. */
export async function actorOfToken(sql: Sql, secret: string): Promise<Actor | null> {
  const [row] = await sql<Row[]>`
    SELECT token.id, scope, account_id, organization_id, project_id, expires_at, is_admin,
      (SELECT json_object_agg(organization_id, role) FROM control.membership m WHERE m.account_id = account.id)
        AS memberships,
      last_used_at IS NULL OR last_used_at < now() - interval '1 minute' AS used_long_ago
    FROM control.token JOIN control.account ON account.id = token.account_id
    WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`;
  if (row === undefined) return null;
  // The time of the last use is written at most once per minute.
  if (row.used_long_ago) await sql`UPDATE control.token SET last_used_at = now() WHERE id = ${row.id}`;
  return {
    accountId: row.account_id,
    isOperator: row.is_admin,
    token: { id: row.id, scope: row.scope, organizationId: row.organization_id, projectId: row.project_id },
    sessionId: null,
    endsWith: { id: row.id, expiresAt: row.expires_at },
    memberships: row.memberships ?? {},
  };
}

/** A signed-in account. */
export interface SignedIn {
  readonly accountId: string;
  /** The token used to sign in; null after sign-in at the Git host. */
  readonly tokenId: string | null;
  /** Id of the session; absent before a session is opened. */
  readonly id?: string;
}

/** The actor of a session; null if its account does not exist. */
export async function actorOfSession(sql: Sql, { accountId, tokenId, id }: SignedIn): Promise<Actor | null> {
  const [account] = await sql<{ is_admin: boolean; memberships: Record<string, Role> | null }[]>`
    SELECT is_admin, (SELECT json_object_agg(organization_id, role) FROM control.membership WHERE account_id = id) AS memberships
    FROM control.account WHERE id = ${accountId}`;
  if (account === undefined) return null;
  return {
    accountId,
    isOperator: account.is_admin,
    token: null,
    sessionId: id ?? null,
    // Browsers sign in only with tokens that do not expire.
    endsWith: tokenId === null ? null : { id: tokenId, expiresAt: null },
    memberships: account.memberships ?? {},
  };
}

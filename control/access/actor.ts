// Who asks: an account by session or token. Found once a request, before any route.
import { hashOf } from '../records/ids.ts';
import type { Sql } from '#postgres/sql.ts';
import type { Role, TokenScope } from './permissions.ts';

/** Who asks. */
export interface Actor {
  readonly accountId: string;
  readonly isOperator: boolean;
  /** Null: signed in by a session, not by a token. */
  readonly token: {
    readonly id: string;
    readonly scope: TokenScope;
    readonly organizationId: string | null;
    readonly projectId: string | null;
  } | null;
  /** Role by organization. */
  readonly memberships: Readonly<Record<string, Role>>;
}

/** The actor of `Authorization: Bearer`; null where the token is unknown, expired or revoked. */
export async function actorOfToken(sql: Sql, secret: string): Promise<Actor | null> {
  const [token] = await sql<
    { id: string; scope: TokenScope; account_id: string; organization_id: string | null; project_id: string | null }[]
  >`
    UPDATE control.token SET last_used_at = now()
    WHERE hash = ${hashOf(secret)} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      AND account_id IS NOT NULL
    RETURNING id, scope, account_id, organization_id, project_id`;
  if (token === undefined) return null;
  const { id, scope, account_id: accountId, organization_id: organizationId, project_id: projectId } = token;
  return actorOf(sql, accountId, { id, scope, organizationId, projectId });
}

/** The actor of an account that was identified already. */
export async function actorOf(sql: Sql, accountId: string, token: Actor['token']): Promise<Actor | null> {
  const [account] = await sql<{ is_admin: boolean; memberships: Record<string, Role> | null }[]>`
    SELECT is_admin, (SELECT json_object_agg(organization_id, role) FROM control.membership WHERE account_id = id) AS memberships
    FROM control.account WHERE id = ${accountId}`;
  if (account === undefined) return null;
  return { accountId, isOperator: account.is_admin, token, memberships: account.memberships ?? {} };
}

// The caller's account and its browser sessions.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Actor } from '../../access/actor.ts';
import { roles, tokenScopes } from '../../access/permissions.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';

const User = Type.Object({
  id: Type.String(),
  login: Type.String(),
  name: Type.String(),
  email: Type.Union([Type.String(), Type.Null()]),
  avatarUrl: Type.Union([Type.String(), Type.Null()]),
  isOperator: Type.Boolean(),
  organizations: Type.Array(
    Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String(), role: Type.Enum([...roles]) }),
  ),
  // The caller's token; null for a session.
  token: Type.Union([
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      scope: Type.Enum([...tokenScopes]),
      expiresAt: Type.Union([Type.String(), Type.Null()]),
    }),
    Type.Null(),
  ]),
});

const UserSession = Type.Object({
  id: Type.String(),
  createdAt: Type.String(),
  expiresAt: Type.String(),
  userAgent: Type.Union([Type.String(), Type.Null()]),
  address: Type.Union([Type.String(), Type.Null()]),
});

interface UserRow {
  readonly id: string;
  readonly login: string;
  readonly name: string;
  readonly email: string | null;
  readonly avatar_url: string | null;
  readonly is_admin: boolean;
}

interface TokenRow {
  readonly id: string;
  readonly name: string;
  readonly scope: (typeof tokenScopes)[number];
  readonly expires_at: Date | null;
}

interface OrganizationRow {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly role: (typeof roles)[number];
}

export const account = platform<Dependencies, RequestState>()
  .get('/user', { ...needs('account:read'), summary: 'Who asks', response: User }, async (ctx) => {
    const { accountId, token: asked } = ctx.state.access.account('account:read');
    const { sql } = ctx.env;
    const [user] = await sql<UserRow[]>`SELECT * FROM control.account WHERE id = ${accountId}`;
    if (user === undefined) throw new ApiError('unauthorized');
    // A token bound to an organization lists only that one.
    const organizations = await sql<OrganizationRow[]>`
      SELECT o.id, o.slug, o.name, m.role FROM control.membership m JOIN control.organization o ON o.id = m.organization_id
      WHERE m.account_id = ${accountId} AND (${asked?.organizationId ?? null}::text IS NULL OR o.id = ${asked?.organizationId ?? null})
      ORDER BY o.created_at, o.id LIMIT 1000`;
    const [token] = asked === null ? [] : await sql<TokenRow[]>`SELECT * FROM control.token WHERE id = ${asked.id}`;
    return {
      id: user.id,
      login: user.login,
      name: user.name,
      email: user.email,
      avatarUrl: user.avatar_url,
      isOperator: user.is_admin,
      organizations: organizations.map(({ id, slug, name, role }) => ({ id, slug, name, role })),
      token:
        token === undefined
          ? null
          : {
              id: token.id,
              name: token.name,
              scope: token.scope,
              expiresAt: token.expires_at?.toISOString() ?? null,
            },
    };
  })
  .get(
    '/user/sessions',
    { ...needs('account:read'), summary: 'List the sessions of the account', response: Type.Array(UserSession) },
    async (ctx) => {
      const { accountId } = wholeAccount(ctx.state.access.account('account:read'));
      const sessions = await ctx.env.signIn.sessions.list(accountId);
      return sessions.map(({ id, createdAt, expiresAt, userAgent, address }) => ({
        id,
        createdAt: createdAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
        userAgent,
        address,
      }));
    },
  )
  .delete(
    '/user/sessions/:id',
    { ...needs('account:write'), summary: 'End a session of the account', response: { 204: null } },
    async (ctx) => {
      const { accountId } = wholeAccount(ctx.state.access.account('account:write'));
      if (!(await ctx.env.signIn.sessions.endOne(accountId, ctx.params.id))) throw new ApiError('not_found');
      return ctx.json(undefined, 204);
    },
  );

/** A token bound to an organization or project has no access to the account's sessions. */
function wholeAccount(actor: Actor): Actor {
  const { token } = actor;
  if (token !== null && (token.organizationId !== null || token.projectId !== null))
    throw new ApiError('forbidden', { permission: 'account:read' });
  return actor;
}

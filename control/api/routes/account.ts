// The caller's account and its browser sessions.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Actor } from '../../access/actor.ts';
import { roles, tokenScopes } from '../../access/permissions.ts';
import { listPasskeys } from '../../records/passkeys.ts';
import { oidcLoginOf } from '../../records/oidc-identities.ts';
import { readPassword } from '../../records/passwords.ts';
import { hasSecondFactor } from '../../records/second-factors.ts';
import type { SignInWay } from '../../process/configuration.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { offersPasskeys } from '../../sign-in/passkey-offer.ts';

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
  isCurrent: Type.Boolean({ description: 'Whether it is the session of this request' }),
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
  .get('/user', { ...needs('account:read'), tags: ['account'], summary: 'Who asks', response: User }, async (ctx) => {
    const { accountId, token: asked } = ctx.state.access.account('account:read');
    const { sql } = ctx.env;
    const [user] = await sql<UserRow[]>`SELECT * FROM control.account WHERE id = ${accountId}`;
    if (user === undefined) throw new ApiError('unauthorized');
    // With a token that is bound to an organization, only that organization is listed.
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
    '/user/sign-in',
    {
      ...needs('account:read'),
      tags: ['account'],
      summary: 'How the account signs in, and the ways that the platform offers',
      response: Type.Object({
        offered: Type.Array(Type.String({ description: '`password`, `passkey`, `git-host`, `oidc`' })),
        username: Type.Union([Type.String(), Type.Null()], { description: 'Null without a password' }),
        hasSecondFactor: Type.Boolean({ description: 'Whether sign-in with the password needs a code' }),
        passkeys: Type.Integer({ description: 'Number of passkeys of the account' }),
        confirmedEmail: Type.Union([Type.String(), Type.Null()], {
          description: 'Address that receives links for a forgotten password',
        }),
        gitHostLogin: Type.Union([Type.String(), Type.Null()], {
          description: 'Null if no account on the Git host is linked',
        }),
        oidcName: Type.Union([Type.String(), Type.Null()], { description: 'Name of the OpenID Connect provider' }),
        oidcLogin: Type.Union([Type.String(), Type.Null()], {
          description: 'Null if no identity of the provider is linked',
        }),
      }),
    },
    async (ctx) => {
      const { accountId } = wholeAccount(ctx.state.access.account('account:read'));
      const { sql, signIn } = ctx.env;
      const password = await readPassword(sql, accountId);
      const [row] = await sql<{ email: string }[]>`
        SELECT email FROM control.account WHERE id = ${accountId} AND email_proven_at IS NOT NULL`;
      const [identity] = await sql<{ login: string }[]>`
        SELECT login FROM control.identity WHERE account_id = ${accountId} ORDER BY provider, subject LIMIT 1`;
      const isSet: Partial<Record<SignInWay, boolean>> = {
        'git-host': signIn.gitHost.oauth !== null,
        oidc: signIn.oidc !== null,
        passkey: offersPasskeys(ctx.env),
      };
      return {
        offered: signIn.ways.filter((way) => isSet[way] ?? true),
        username: password?.username ?? null,
        hasSecondFactor: await hasSecondFactor(sql, accountId),
        passkeys: (await listPasskeys(sql, accountId)).length,
        confirmedEmail: row?.email ?? null,
        gitHostLogin: identity?.login ?? null,
        oidcName: signIn.oidc?.settings.name ?? null,
        oidcLogin: signIn.oidc === null ? null : await oidcLoginOf(sql, accountId, signIn.oidc.settings.issuer),
      };
    },
  )
  .get(
    '/user/sessions',
    {
      ...needs('account:read'),
      tags: ['account'],
      summary: 'List the sessions of the account',
      response: Type.Array(UserSession),
    },
    async (ctx) => {
      const { accountId, sessionId } = wholeAccount(ctx.state.access.account('account:read'));
      const sessions = await ctx.env.signIn.sessions.list(accountId);
      return sessions.map(({ id, createdAt, expiresAt, userAgent, address }) => ({
        id,
        createdAt: createdAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
        userAgent,
        address,
        isCurrent: id === sessionId,
      }));
    },
  )
  .delete(
    '/user/sessions',
    {
      ...needs('account:write'),
      tags: ['account'],
      summary: 'End all sessions of the account',
      description: 'This includes the session of the request. Tokens stay valid.',
      response: { 204: null },
    },
    async (ctx) => {
      const { accountId } = wholeAccount(ctx.state.access.account('account:write'));
      await ctx.env.signIn.sessions.endAll(accountId);
      await ctx.state.audit(ctx.env.sql, {
        organizationId: null,
        action: 'account.sign_out_everywhere',
        subjectKind: 'account',
        subjectId: accountId,
      });
      return ctx.json(undefined, 204);
    },
  )
  .delete(
    '/user/sessions/:id',
    { ...needs('account:write'), tags: ['account'], summary: 'End a session of the account', response: { 204: null } },
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

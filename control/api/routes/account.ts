// The account that asks: who it is, and its sessions in browsers.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import { roles, tokenScopes } from '../../access/permissions.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';

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
  // Of the token that asks; null in a session.
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

export const account = platform<Parts, RequestState>().get(
  '/user',
  { ...needs('account:read'), summary: 'Who asks', response: User },
  async (ctx) => {
    const { accountId, token: asked } = ctx.state.access.account('account:read');
    const { sql } = ctx.env;
    const [user] = await sql<UserRow[]>`SELECT * FROM control.account WHERE id = ${accountId}`;
    if (user === undefined) throw new ApiError('unauthorized');
    // A token that is for one organization tells of no other.
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
  },
);

// Tokens for programs: created with a scope, optionally bound to an organization or project; shown once; revocable.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { TokenLife } from '../../access/actor.ts';
import { tokenScopes } from '../../access/permissions.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { addToken, countTokens, listTokens, readToken, revokeToken, toToken } from '../../records/tokens.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { pageOf, pageQuery, readTimePage, toTimePage } from '../../http/page.ts';
import { Id, Label, nullable, Timestamp } from '../../http/schemas.ts';
import { ScopeSchema } from '../../access/role-schemas.ts';

const DAYS_DEFAULT = 90;
const DAYS_MAX = 3650;
const DAY_MS = 86_400_000;
const tags = ['tokens'];

const Token = Type.Object({
  id: Id,
  hint: Type.String(),
  name: Type.String(),
  accountId: nullable(Id),
  login: nullable(Type.String()),
  organizationId: nullable(Id),
  projectId: nullable(Id),
  scope: ScopeSchema,
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
  lastUsedAt: nullable(Timestamp),
});

export const tokens = platform<Dependencies, RequestState>()
  .get(
    '/tokens',
    {
      ...needs('account:read'),
      tags,
      summary: "List the account's tokens",
      query: Type.Object(pageQuery),
      response: pageOf(Token),
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.wholeAccount('account:read');
      const page = readTimePage(ctx.query);
      return toTimePage(await listTokens(ctx.env.sql, { accountId }, page), page, toToken);
    },
  )
  .post(
    '/tokens',
    {
      ...needs('account:write'),
      tags,
      summary: 'Create a token; it is shown only once',
      description: 'A token that was created with another token is revoked, and expires, with that token.',
      body: Type.Object(
        {
          name: Label,
          scope: ScopeSchema,
          organizationId: Type.Optional(Id),
          projectId: Type.Optional(Id),
          expiresInDays: Type.Optional(
            nullable(
              Type.Integer({
                minimum: 1,
                maximum: DAYS_MAX,
                description: 'Default: 90. Null: never expires',
              }),
            ),
          ),
        },
        { additionalProperties: false },
      ),
      response: { 201: Type.Object({ ...Token.properties, token: Type.String() }) },
    },
    async (ctx) => {
      const { access } = ctx.state;
      const { accountId, token: asking, endsWith, memberships } = access.account('account:write');
      const { name, scope, projectId = null, expiresInDays } = ctx.body;
      const days = expiresInDays === undefined ? DAYS_DEFAULT : expiresInDays;
      if (expiresInDays !== undefined) checkEnd(endsWith, days);
      let organizationId = ctx.body.organizationId ?? null;
      if (projectId !== null) {
        const [row] = await ctx.env.sql<{ organization_id: string }[]>`
          SELECT organization_id FROM control.project WHERE id = ${projectId} AND deleted_at IS NULL`;
        if (row === undefined || !access.may('project:read', row.organization_id, projectId))
          throw new ApiError('not_found');
        if (organizationId !== null && organizationId !== row.organization_id) throw new ApiError('not_found');
        organizationId = row.organization_id;
      }
      if (organizationId !== null && !Object.hasOwn(memberships, organizationId)) throw new ApiError('not_found');
      // A token cannot create a broader token.
      const isWider =
        asking !== null &&
        ((asking.organizationId !== null && asking.organizationId !== organizationId) ||
          (asking.projectId !== null && asking.projectId !== projectId) ||
          tokenScopes.indexOf(scope) > tokenScopes.indexOf(asking.scope));
      if (isWider) throw new ApiError('forbidden', { permission: 'account:write' });
      const allowed = ctx.env.limits.tokensMax;
      const made = await ctx.env.sql.begin(async (tx) => {
        await tx`SELECT 1 FROM control.account WHERE id = ${accountId} FOR UPDATE`;
        if ((await countTokens(tx, accountId)) >= allowed)
          throw new ApiError('limit_reached', { what: 'tokens', allowed });
        const issued = await addToken(tx, { name, accountId, organizationId, projectId, scope, days, endsWith });
        if (issued === null) throw new ApiError('unauthorized');
        const { id, secret } = issued;
        await ctx.state.audit(tx, {
          organizationId,
          projectId,
          action: 'token.create',
          subjectKind: 'token',
          subjectId: id,
          details: { name, scope },
        });
        const row = await readToken(tx, id);
        return { ...toToken(row!), token: secret };
      });
      return ctx.json(made, 201);
    },
  )
  .delete(
    '/tokens/:id',
    { ...needs('account:write'), tags, summary: "Revoke one of the account's tokens", response: { 204: null } },
    async (ctx) => {
      const { accountId, token: asking } = ctx.state.access.account('account:write');
      const { id } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const row = await readToken(tx, id);
        const isOutside =
          row === undefined ||
          row.account_id !== accountId ||
          (asking !== null && asking.organizationId !== null && asking.organizationId !== row.organization_id) ||
          (asking !== null && asking.projectId !== null && asking.projectId !== row.project_id);
        if (isOutside) throw new ApiError('not_found');
        await revokeToken(tx, id);
        await ctx.state.audit(tx, {
          organizationId: row.organization_id,
          projectId: row.project_id,
          action: 'token.revoke',
          subjectKind: 'token',
          subjectId: id,
          details: { name: row.name },
        });
      });
      return ctx.json(null, 204);
    },
  )
  .get(
    '/orgs/:id/tokens',
    {
      ...needs('token:read', 'organization'),
      tags,
      summary: 'List the tokens of all members that are bound to an organization',
      query: Type.Object(pageQuery),
      response: pageOf(Token),
    },
    async (ctx) => {
      const page = readTimePage(ctx.query);
      return toTimePage(await listTokens(ctx.env.sql, { organizationId: ctx.params.id }, page), page, toToken);
    },
  )
  .delete(
    '/orgs/:id/tokens/:tokenId',
    {
      ...needs('token:write', 'organization'),
      tags,
      summary: 'Revoke a token that is bound to an organization',
      response: { 204: null },
    },
    async (ctx) => {
      const { id, tokenId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const row = await readToken(tx, tokenId);
        if (row === undefined || row.organization_id !== id) throw new ApiError('not_found');
        await revokeToken(tx, tokenId);
        await ctx.state.audit(tx, {
          organizationId: id,
          projectId: row.project_id,
          action: 'token.revoke',
          subjectKind: 'token',
          subjectId: tokenId,
          details: { name: row.name },
        });
      });
      return ctx.json(null, 204);
    },
  );

/** @throws {ApiError} if a token would outlive its parent. */
function checkEnd(endsWith: TokenLife | null, days: number | null): void {
  const most = endsWith?.expiresAt ?? null;
  if (most === null || (days !== null && Date.now() + days * DAY_MS <= most.getTime())) return;
  throw new ApiError('unprocessable', {
    reason: `body.expiresInDays: the new token cannot expire after the token of this request (${most.toISOString()}): leave it out`,
  });
}

// Tokens of the AI gateway for `platform dev`: an organization is charged for calls from a developer's machine. A token
// is revoked with the token that created it, and with the membership (records/revoke-credentials.ts).
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { statementsOf } from '#postgres/sql.ts';
import { issueToken } from '#gateway/accounts/postgres/tokens.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';

const LIFE_MS = 7 * 86_400_000;
/** Maximum number of tokens per account and organization; a new token replaces the oldest. */
const TOKENS_MAX = 10;

const DevToken = Type.Object({
  id: Id,
  accountId: nullable(Id),
  login: nullable(Type.String()),
  createdAt: Timestamp,
  expiresAt: Timestamp,
});

interface Row {
  readonly id: string;
  readonly account_id: string | null;
  readonly login: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
}

export const aiDevToken = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/ai/dev-tokens',
    {
      ...needs('token:read', 'organization'),
      tags: ['ai'],
      summary: "List the members' AI gateway tokens for platform dev",
      response: Type.Array(DevToken),
    },
    async (ctx) => {
      const rows = await ctx.env.sql<Row[]>`
        SELECT t.id, a.id AS account_id, a.login, t.created_at, t.expires_at
        FROM control.ai_token t LEFT JOIN control.account a ON a.id = t.created_by
        WHERE organization_id = ${ctx.params.id} AND kind = 'dev' AND expires_at > now()
        ORDER BY t.created_at DESC, t.id LIMIT 1000`;
      return rows.map((row) => ({
        id: row.id,
        accountId: row.account_id,
        login: row.login,
        createdAt: row.created_at.toISOString(),
        expiresAt: row.expires_at.toISOString(),
      }));
    },
  )
  .delete(
    '/orgs/:id/ai/dev-tokens/:devTokenId',
    {
      ...needs('token:write', 'organization'),
      tags: ['ai'],
      summary: "Revoke a member's AI gateway token for platform dev",
      response: { 204: null },
    },
    async (ctx) => {
      const { id, devTokenId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const { count } = await tx`
          DELETE FROM control.ai_token WHERE id = ${devTokenId} AND organization_id = ${id} AND kind = 'dev'`;
        if (count === 0) throw new ApiError('not_found');
        await ctx.state.audit(tx, { ...subject(id, devTokenId), action: 'ai.dev_token.delete' });
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    '/orgs/:id/ai/dev-token',
    {
      ...needs('deployment:create', 'organization'),
      tags: ['ai'],
      summary: 'Create an AI token for `platform dev`',
      description: 'Expires after a week, or with the token that creates it.',
      response: { 201: Type.Object({ url: Type.String(), token: Type.String(), expiresAt: Timestamp }) },
    },
    async (ctx) => {
      const { id } = ctx.params;
      const { sql, addresses } = ctx.env;
      const { accountId: account, endsWith } = ctx.state.access.actor!;
      const expiresAt = Math.min(Date.now() + LIFE_MS, endsWith?.expiresAt?.getTime() ?? Infinity);
      const of = { organizationId: id, projectId: null, deploymentId: null, branch: null, runId: null } as const;
      const token = await sql.begin(async (tx) => {
        const issued = await issueToken(statementsOf(tx), { ...of, kind: 'dev' }, expiresAt, {
          createdBy: account,
          parentId: endsWith?.id ?? null,
        });
        await tx`
          DELETE FROM control.ai_token WHERE id IN (
            SELECT id FROM control.ai_token WHERE organization_id = ${id} AND kind = 'dev' AND created_by = ${account}
            ORDER BY created_at DESC, id OFFSET ${TOKENS_MAX})`;
        await ctx.state.audit(tx, { ...subject(id, issued.id), action: 'ai.dev_token.create' });
        return issued.token;
      });
      return ctx.json({ url: `${addresses.api}/ai`, token, expiresAt: new Date(expiresAt).toISOString() }, 201);
    },
  );

function subject(organizationId: string, subjectId: string) {
  return { organizationId, subjectKind: 'ai_key', subjectId } as const;
}

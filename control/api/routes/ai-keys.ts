// AI gateway keys of organizations, for programs outside workers: shown once, stored as SHA-256, revocable.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { statementsOf } from '#postgres/sql.ts';
import type { SetLimit } from '#gateway/accounts/accounts.ts';
import { issueToken } from '#gateway/accounts/postgres/tokens.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { Id, Label, nullable, Timestamp } from '../../http/schemas.ts';
import { checkLimits, LimitSchema, LimitsSchema, limitTexts } from './ai-limits.ts';

const tags = ['ai'];
const DAY_MS = 86_400_000;

const Key = Type.Object({
  id: Id,
  name: Type.String(),
  hint: Type.String({ description: 'First characters of the key' }),
  limits: Type.Array(LimitSchema),
  createdAt: Timestamp,
  expiresAt: nullable(Timestamp),
});

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly limits: SetLimit[];
  readonly created_at: Date;
  readonly expires_at: Date | null;
}

const toKey = (row: KeyRow): Static<typeof Key> => ({
  id: row.id,
  name: row.name,
  hint: row.hint,
  limits: row.limits,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
});

export const aiKeys = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/ai/keys',
    {
      ...needs('token:read', 'organization'),
      tags,
      summary: 'List the keys of an organization for the AI gateway',
      response: Type.Array(Key),
    },
    async (ctx) => {
      const rows = await ctx.env.sql<KeyRow[]>`
        SELECT id, name, hint, limits, created_at, expires_at FROM control.ai_token
        WHERE organization_id = ${ctx.params.id} AND kind = 'key' AND (expires_at IS NULL OR expires_at > now())
        ORDER BY created_at DESC, id`;
      return rows.map(toKey);
    },
  )
  .post(
    '/orgs/:id/ai/keys',
    {
      ...needs('token:write', 'organization'),
      tags,
      summary: 'Create a key for the AI gateway; it is shown only once',
      body: Type.Object(
        {
          name: Label,
          limits: Type.Optional(LimitsSchema),
          days: Type.Optional(
            Type.Integer({ minimum: 1, maximum: 3650, description: 'Time until it expires; default: never' }),
          ),
        },
        { additionalProperties: false },
      ),
      response: { 201: Type.Object({ ...Key.properties, key: Type.String() }) },
    },
    async (ctx) => {
      const { id } = ctx.params;
      const { name, limits = [], days } = ctx.body;
      checkLimits(limits);
      const { sql, limits: bounds } = ctx.env;
      const made = await sql.begin(async (tx) => {
        await tx`SELECT 1 FROM control.organization WHERE id = ${id} FOR UPDATE`;
        const [count] = await tx<{ count: number }[]>`
          SELECT count(*)::int AS count FROM control.ai_token WHERE organization_id = ${id} AND kind = 'key'`;
        const allowed = bounds.tokensMax;
        if (count!.count >= allowed) throw new ApiError('limit_reached', { what: 'AI gateway keys', allowed });
        const of = { organizationId: id, projectId: null, deploymentId: null, branch: null, runId: null } as const;
        const { id: keyId, token: key } = await issueToken(
          statementsOf(tx),
          { ...of, kind: 'key' },
          days === undefined ? null : Date.now() + days * DAY_MS,
          { name, limits, createdBy: ctx.state.access.actor!.accountId },
        );
        const [row] = await tx<KeyRow[]>`
          SELECT id, name, hint, limits, created_at, expires_at FROM control.ai_token WHERE id = ${keyId}`;
        await ctx.state.audit(tx, {
          ...subject(id, keyId, 'ai.key.create'),
          details: { name, limits: limitTexts(limits) },
        });
        return { ...toKey(row!), key };
      });
      return ctx.json(made, 201);
    },
  )
  .delete(
    '/orgs/:id/ai/keys/:keyId',
    {
      ...needs('token:write', 'organization'),
      tags,
      summary: 'Revoke a key for the AI gateway',
      response: { 204: null },
    },
    async (ctx) => {
      const { id, keyId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const { count } = await tx`
          DELETE FROM control.ai_token WHERE id = ${keyId} AND organization_id = ${id} AND kind = 'key'`;
        if (count === 0) throw new ApiError('not_found');
        await ctx.state.audit(tx, subject(id, keyId, 'ai.key.delete'));
      });
      return ctx.json(null, 204);
    },
  );

function subject(organizationId: string, subjectId: string, action: string) {
  return { organizationId, action, subjectKind: 'ai_key', subjectId } as const;
}

// AI model providers of organizations, in addition to those of the operator. Keys are stored encrypted and never shown
// again.
import Type, { type Static } from '#core/typebox/typebox.mjs';
import { aiProviderKinds } from '#core/ai-settings.ts';
import { seal } from '#core/encryption.ts';
import { platform } from '#packages/worker/index.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { urlProblem } from '#core/outbound/post.ts';
import { providerContext } from '#gateway/accounts/postgres/settings.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';

const tags = ['ai'];
const NAME = '^[a-z][a-z0-9-]{0,39}$';
/** The part of `provider/model` after the slash; it may contain slashes, colons and dots. */
const MODEL = '^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$';

export const ProviderSchema = Type.Object({
  id: Id,
  name: Type.String({ description: 'The part of `provider/model` before the slash' }),
  kind: Type.Enum([...aiProviderKinds]),
  url: Type.String(),
  hasKey: Type.Boolean(),
  models: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  updatedAt: Timestamp,
});
const providerFields = {
  kind: Type.Enum([...aiProviderKinds]),
  url: Type.String({ maxLength: 2048, description: 'Includes the version: https://api.openai.com/v1; empty for mock' }),
  key: Type.Optional(
    nullable(Type.String({ minLength: 1, maxLength: 4096, description: 'Never shown again; null: none' })),
  ),
  models: Type.Optional(
    Type.Array(Type.String({ pattern: MODEL }), {
      maxItems: 200,
      description: 'Models that /ai/models lists; other models are forwarded too',
    }),
  ),
  enabled: Type.Optional(Type.Boolean()),
};

interface ProviderRow {
  readonly id: string;
  readonly name: string;
  readonly kind: Static<typeof ProviderSchema>['kind'];
  readonly url: string;
  readonly has_key: boolean;
  readonly models: string[];
  readonly enabled: boolean;
  readonly updated_at: Date;
}

const toProvider = (row: ProviderRow): Static<typeof ProviderSchema> => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  url: row.url,
  hasKey: row.has_key,
  models: row.models,
  enabled: row.enabled,
  updatedAt: row.updated_at.toISOString(),
});

/** Ordered by name. */
export async function readProviders(sql: Sql, organizationId: string): Promise<Static<typeof ProviderSchema>[]> {
  const rows = await sql<ProviderRow[]>`
    SELECT *, key IS NOT NULL AS has_key FROM control.ai_provider WHERE organization_id = ${organizationId} ORDER BY name`;
  return rows.map(toProvider);
}

export const aiProviders = platform<Dependencies, RequestState>()
  .put(
    '/orgs/:id/ai/providers/:name',
    {
      ...needs('ai:write', 'organization'),
      tags,
      summary: "Make or change a provider of an organization's own; its URL is https on a public address",
      params: Type.Object({ id: Id, name: Type.String({ pattern: NAME }) }),
      body: Type.Object(providerFields, { additionalProperties: false }),
      response: ProviderSchema,
    },
    async (ctx) => {
      const { id, name } = ctx.params;
      const { kind, url, key, models = [], enabled = true } = ctx.body;
      const problem = kind === 'mock' ? null : urlProblem(url, false);
      if (problem !== null) throw new ApiError('bad_request', { reason: `body.url: ${problem}` });
      const { sql, keys, limits } = ctx.env;
      const row = await sql.begin(async (tx) => {
        const before = await lockProvider(tx, id, name);
        if (before === null) {
          const [count] = await tx<{ count: number }[]>`
            SELECT count(*)::int AS count FROM control.ai_provider WHERE organization_id = ${id}`;
          const allowed = limits.aiProvidersMax;
          if (count!.count >= allowed) throw new ApiError('limit_reached', { what: 'AI providers', allowed });
        }
        const providerId = before ?? newId('aiProvider');
        const sealed = typeof key === 'string' ? seal(keys, key, providerContext(providerId)) : null;
        // Without a new key, the old key is kept, but it is never sent to a changed address.
        const [made] = await tx<ProviderRow[]>`
          INSERT INTO control.ai_provider AS p (id, organization_id, name, kind, url, key, models, enabled, created_by)
          VALUES (${providerId}, ${id}, ${name}, ${kind}, ${url}, ${sealed}, ${models}, ${enabled}, ${ctx.state.access.actor!.accountId})
          ON CONFLICT (organization_id, name) DO UPDATE SET kind = excluded.kind, url = excluded.url,
            models = excluded.models, enabled = excluded.enabled, updated_at = now(),
            key = CASE WHEN ${key !== undefined} THEN excluded.key WHEN p.url = excluded.url THEN p.key END
          RETURNING *, key IS NOT NULL AS has_key`;
        await ctx.state.audit(tx, {
          ...subject(id, name, before === null ? 'ai.provider.create' : 'ai.provider.update'),
          details: { kind, host: URL.parse(url)?.host ?? '', enabled },
        });
        return made!;
      });
      return toProvider(row);
    },
  )
  .delete(
    '/orgs/:id/ai/providers/:name',
    {
      ...needs('ai:write', 'organization'),
      tags,
      summary: 'Delete a provider of an organization, with its key',
      response: { 204: null },
    },
    async (ctx) => {
      const { id, name } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const { count } = await tx`DELETE FROM control.ai_provider WHERE organization_id = ${id} AND name = ${name}`;
        if (count === 0) throw new ApiError('not_found');
        await ctx.state.audit(tx, subject(id, name, 'ai.provider.delete'));
      });
      return ctx.json(null, 204);
    },
  );

async function lockProvider(tx: Transaction, organizationId: string, name: string): Promise<string | null> {
  await tx`SELECT 1 FROM control.organization WHERE id = ${organizationId} FOR UPDATE`;
  const [row] = await tx<{ id: string }[]>`
    SELECT id FROM control.ai_provider WHERE organization_id = ${organizationId} AND name = ${name}`;
  return row?.id ?? null;
}

function subject(organizationId: string, subjectId: string, action: string) {
  return { organizationId, action, subjectKind: 'ai_provider', subjectId } as const;
}

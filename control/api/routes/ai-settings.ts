// AI gateway settings of organizations: model aliases, the models of `auto`, limits of the organization and its
// projects. Table triggers notify the gateway of changes.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { statementsOf } from '#postgres/sql.ts';
import type { SetLimit } from '#gateway/accounts/accounts.ts';
import { countSpent } from '#gateway/accounts/postgres/spent.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readReadiness, ReadinessSchema } from '../../records/ai-readiness.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { checkLimits, LimitSchema, LimitsSchema, limitTexts } from './ai-limits.ts';
import { ProviderSchema, readProviders } from './ai-providers.ts';

const tags = ['ai'];
const ALIAS = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$';
const FULL_MODEL = '^[a-z][a-z0-9-]{0,39}/[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$';

const Settings = Type.Object({
  providers: Type.Array(ProviderSchema),
  aliases: Type.Record(Type.String(), Type.String()),
  auto: Type.Array(Type.String()),
  limits: Type.Array(LimitSchema),
  readiness: ReadinessSchema,
});

export const aiSettings = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/ai',
    {
      ...needs('organization:read', 'organization'),
      tags,
      summary: 'AI settings of an organization',
      response: Settings,
    },
    async (ctx) => {
      const { id } = ctx.params;
      const { sql } = ctx.env;
      const providers = await readProviders(sql, id);
      const [settings] = await sql<{ aliases: Record<string, string>; auto: string[]; limits: SetLimit[] }[]>`
        SELECT aliases, auto, limits FROM control.ai_settings WHERE organization_id = ${id} AND project_id IS NULL`;
      const { aliases, auto, limits } = settings ?? { aliases: {}, auto: [], limits: [] };
      return { providers, aliases, auto, limits, readiness: await readReadiness(ctx.env, id) };
    },
  )
  .put(
    '/orgs/:id/ai',
    {
      ...needs('ai:write', 'organization'),
      tags,
      summary: 'Set model names, the order of models that `auto` tries, and the limits of an organization',
      body: Type.Object(
        {
          aliases: Type.Record(Type.String({ pattern: ALIAS }), Type.String({ pattern: FULL_MODEL }), {
            maxProperties: 100,
            additionalProperties: false,
            description: 'A name without a slash, mapped to `provider/model`',
          }),
          auto: Type.Array(Type.String({ pattern: FULL_MODEL }), { maxItems: 20 }),
          limits: LimitsSchema,
        },
        { additionalProperties: false },
      ),
      response: Type.Object({
        aliases: Settings.properties.aliases,
        auto: Settings.properties.auto,
        limits: Settings.properties.limits,
      }),
    },
    async (ctx) => {
      const { id } = ctx.params;
      const { aliases, auto, limits } = ctx.body;
      checkLimits(limits);
      if (Object.hasOwn(aliases, 'auto'))
        throw new ApiError('bad_request', { reason: 'body.aliases: auto is reserved' });
      await ctx.env.sql.begin(async (tx) => {
        await tx`
          INSERT INTO control.ai_settings (organization_id, aliases, auto, limits)
          VALUES (${id}, ${tx.json(aliases)}, ${auto}, ${tx.json(limits)})
          ON CONFLICT (organization_id) WHERE project_id IS NULL
          DO UPDATE SET aliases = excluded.aliases, auto = excluded.auto, limits = excluded.limits, updated_at = now()`;
        await countSpent(statementsOf(tx), { organizationId: id, projectId: null }, limits, Date.now());
        await ctx.state.audit(tx, {
          ...subject(id, 'organization', id, 'ai.settings'),
          details: {
            aliases: Object.entries(aliases).map(([name, model]) => `${name}=${model}`),
            auto,
            limits: limitTexts(limits),
          },
        });
      });
      return { aliases, auto, limits };
    },
  )
  .get(
    '/projects/:id/ai',
    {
      ...needs('project:read', 'project'),
      tags,
      summary:
        'AI limits of a project, in addition to those of its plan and organization, and whether it can use models',
      response: Type.Object({ limits: Type.Array(LimitSchema), readiness: ReadinessSchema }),
    },
    async (ctx) => {
      const { organizationId } = await ctx.state.access.project('project:read', ctx.params.id);
      const [row] = await ctx.env.sql<{ limits: SetLimit[] }[]>`
        SELECT limits FROM control.ai_settings WHERE project_id = ${ctx.params.id}`;
      return { limits: row?.limits ?? [], readiness: await readReadiness(ctx.env, organizationId) };
    },
  )
  .put(
    '/projects/:id/ai',
    {
      ...needs('ai:write', 'project'),
      tags,
      summary: 'Set the AI limits of a project',
      body: Type.Object({ limits: LimitsSchema }, { additionalProperties: false }),
      response: Type.Object({ limits: Type.Array(LimitSchema) }),
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.project('ai:write', ctx.params.id);
      const { limits } = ctx.body;
      checkLimits(limits);
      await ctx.env.sql.begin(async (tx) => {
        await tx`
          INSERT INTO control.ai_settings (organization_id, project_id, limits)
          VALUES (${organizationId}, ${projectId}, ${tx.json(limits)})
          ON CONFLICT (project_id) WHERE project_id IS NOT NULL
          DO UPDATE SET limits = excluded.limits, updated_at = now()`;
        await countSpent(statementsOf(tx), { organizationId, projectId }, limits, Date.now());
        await ctx.state.audit(tx, {
          ...subject(organizationId, 'project', projectId, 'ai.settings'),
          projectId,
          details: { limits: limitTexts(limits) },
        });
      });
      return { limits };
    },
  );

function subject(organizationId: string, subjectKind: string, subjectId: string, action: string) {
  return { organizationId, action, subjectKind, subjectId } as const;
}

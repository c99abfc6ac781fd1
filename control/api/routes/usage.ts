// Usage: requests and CPU by project, kind of invocation, route and time, as reported by engines; and plans.
import Type from '#core/typebox/typebox.mjs';
import { budgetKinds, invocationKinds, plans as planNames } from '#core/plans.ts';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readOrganization } from '../../records/organizations.ts';
import { touchProjects } from '../../records/projects.ts';
import { readBudget, readCostliest, readUsage, usageGroups, type UsageQuestion } from '../../records/usage.ts';
import type { RequestState } from '../request/middleware.ts';
import { touchStorage } from '../../storage/follow.ts';
import { storageLimitOf } from '../../storage/left.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { LatencySchema, StatusSchema } from './analytics.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';
import { checkTimeRange } from '../../http/time-range.ts';

const DAY_MS = 86_400_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 400;
const PlanName = Type.Enum([...planNames]);
const usageQuery = Type.Object({
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
  groupBy: Type.Optional(Type.Enum([...usageGroups])),
  kind: Type.Optional(Type.Enum([...invocationKinds])),
  route: Type.Optional(
    Type.String({ maxLength: 300, description: 'A route, as returned by a request that groups by route' }),
  ),
});
const budgets = Object.fromEntries(budgetKinds.map((kind) => [kind, Type.Integer()]));
/** CPU milliseconds per invocation in the organization's plan, by kind; 0 means no limit. */
const Budget = Type.Object({ plan: PlanName, cpuMs: Type.Object(budgets) });
const Invocation = Type.Object({
  id: Type.String(),
  at: Timestamp,
  cpuMs: Type.Number(),
  isFailure: Type.Boolean(),
  projectId: Id,
  deploymentId: Type.String(),
  kind: Type.Enum([...invocationKinds]),
  route: Type.String(),
});
const counts = {
  invocations: Type.Integer(),
  // Invocations with a status of 5xx, or an outcome that is not `ok`.
  failures: Type.Integer(),
  status: StatusSchema,
  firstByteMs: LatencySchema,
  answerMs: LatencySchema,
  cpuMs: Type.Number(),
  hostCpuMs: Type.Number(),
  // CPU per invocation: median and 99th percentile, accurate to a third.
  cpuMsP50: nullable(Type.Number()),
  cpuMsP99: nullable(Type.Number()),
  // CPU of the most expensive invocation, and its id.
  cpuMsMax: Type.Number(),
  costliest: nullable(Invocation),
};
const Usage = Type.Object({
  from: Timestamp,
  to: Timestamp,
  budget: Budget,
  totals: Type.Object(counts),
  // Groups with the most CPU come first; groups by day or hour are sorted by time. At most 1000.
  items: Type.Array(
    Type.Object({
      at: nullable(Timestamp),
      projectId: nullable(Id),
      deploymentId: nullable(Type.String()),
      kind: nullable(Type.String()),
      route: nullable(Type.String()),
      ...counts,
    }),
  ),
});
const PlanLimits = Type.Object({
  id: PlanName,
  cpuMs: Type.Object(budgets),
  storageBytes: nullable(Type.Integer()),
});
const tags = ['usage'];

interface UsageQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly groupBy?: UsageQuestion['groupBy'] | undefined;
  readonly kind?: string | undefined;
  readonly route?: string | undefined;
}

/** @throws {ApiError} if the range is negative or too long. */
function toQuestion(query: UsageQuery): Omit<UsageQuestion, 'organizationId' | 'projectId'> {
  const to = query.to === undefined ? new Date() : new Date(query.to);
  const from = query.from === undefined ? new Date(to.getTime() - DAYS_DEFAULT * DAY_MS) : new Date(query.from);
  checkTimeRange(from, to, DAYS_MAX);
  return { from, to, groupBy: query.groupBy ?? 'kind', kind: query.kind ?? null, route: query.route ?? null };
}

async function usageOf(deps: Dependencies, question: UsageQuestion) {
  const [budget, used] = await Promise.all([readBudget(deps, question.organizationId), readUsage(deps.sql, question)]);
  return { budget, ...used };
}

export const usage = platform<Dependencies, RequestState>()
  .get(
    '/orgs/:id/usage',
    {
      ...needs('usage:read', 'organization'),
      tags,
      summary: 'Read requests and CPU of an organization',
      query: usageQuery,
      response: Usage,
    },
    (ctx) => usageOf(ctx.env, { ...toQuestion(ctx.query), organizationId: ctx.params.id, projectId: null }),
  )
  .get(
    '/projects/:id/usage',
    {
      ...needs('usage:read', 'project'),
      tags,
      summary: 'Read requests and CPU of a project',
      query: usageQuery,
      response: Usage,
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.project('usage:read', ctx.params.id);
      return usageOf(ctx.env, { ...toQuestion(ctx.query), organizationId, projectId });
    },
  )
  .get(
    '/projects/:id/usage/costliest',
    {
      ...needs('usage:read', 'project'),
      tags,
      summary: 'List the invocations closest to their CPU budget, closest first',
      description:
        'Each engine reports at most one per second and route; three are kept for each hour, deployment, kind and route.',
      query: Type.Object({
        from: usageQuery.properties.from,
        to: usageQuery.properties.to,
        kind: usageQuery.properties.kind,
        route: usageQuery.properties.route,
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      }),
      response: Type.Object({ budget: Budget, items: Type.Array(Invocation) }),
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.project('usage:read', ctx.params.id);
      const { limit = 20, ...asked } = ctx.query;
      const budget = await readBudget(ctx.env, organizationId);
      const scope = { ...toQuestion(asked), organizationId, projectId };
      return { budget, items: await readCostliest(ctx.env.sql, scope, budget.cpuMs, limit) };
    },
  )
  .get(
    '/plans',
    {
      ...needs('account:read'),
      tags: ['plans'],
      summary:
        'List the plans with the CPU limit of one invocation and the storage limit of an organization (null: no limit)',
      response: Type.Object({ items: Type.Array(PlanLimits) }),
    },
    (ctx) => {
      ctx.state.access.account('account:read');
      return {
        items: planNames.map((id) => ({
          id,
          cpuMs: Object.fromEntries(budgetKinds.map((kind) => [kind, ctx.env.cpuLimits[kind][id]])),
          storageBytes: storageLimitOf(ctx.env.storage.limits, id),
        })),
      };
    },
  )
  .put(
    '/orgs/:id/plan',
    {
      ...needs('operator'),
      tags: ['plans'],
      summary: 'Set the plan of an organization; takes effect within a second',
      body: Type.Object({ plan: PlanName }),
      response: Type.Object({ plan: PlanName }),
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.operator();
      const { id } = ctx.params;
      const { plan } = ctx.body;
      await ctx.env.sql.begin(async (tx) => {
        const before = await readOrganization(tx, id, accountId);
        if (before === null) throw new ApiError('not_found');
        await tx`UPDATE control.organization SET plan = ${plan} WHERE id = ${id}`;
        await touchProjects(tx, id);
        await touchStorage(tx);
        await ctx.state.audit(tx, {
          organizationId: id,
          action: 'organization.plan',
          subjectKind: 'organization',
          subjectId: id,
          details: { before: before.plan, plan },
        });
      });
      return { plan };
    },
  );

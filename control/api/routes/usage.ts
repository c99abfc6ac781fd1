// Usage: requests and CPU by project, kind of invocation, route and time, as engines have reported them; and plans.
import Type from 'typebox';
import { invocationKinds, plans as planNames } from '#core/plans.ts';
import { platform } from '#packages/worker/index.ts';
import type { Parts } from '../../parts.ts';
import { readOrganization } from '../../records/organizations.ts';
import { touchProjects } from '../../records/projects.ts';
import { readUsage, usageGroups, type UsageQuestion } from '../../records/usage.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';
import { Id, nullable, Timestamp } from '../schemas.ts';

const DAY_MS = 86_400_000;
const DAYS_DEFAULT = 30;
const DAYS_MAX = 400;
const Plan = Type.Enum([...planNames]);
const usageQuery = Type.Object({
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
  groupBy: Type.Optional(Type.Enum([...usageGroups])),
  kind: Type.Optional(Type.Enum([...invocationKinds])),
});
const counts = {
  invocations: Type.Integer(),
  failures: Type.Integer(),
  cpuMs: Type.Number(),
  hostCpuMs: Type.Number(),
  // Of the most expensive invocation.
  cpuMsMax: Type.Number(),
};
const Usage = Type.Object({
  from: Timestamp,
  to: Timestamp,
  totals: Type.Object(counts),
  // The most CPU first; by day and hour, the oldest first. At most 1000.
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
  id: Plan,
  cpuMs: Type.Object(Object.fromEntries(invocationKinds.map((kind) => [kind, Type.Integer()]))),
});
const tags = ['usage'];

interface Asked {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly groupBy?: UsageQuestion['groupBy'] | undefined;
  readonly kind?: string | undefined;
}

/** @throws {ApiError} for a time that ends before it begins, or is too long. */
function toQuestion(asked: Asked): Omit<UsageQuestion, 'organizationId' | 'projectId'> {
  const to = asked.to === undefined ? new Date() : new Date(asked.to);
  const from = asked.from === undefined ? new Date(to.getTime() - DAYS_DEFAULT * DAY_MS) : new Date(asked.from);
  const ms = to.getTime() - from.getTime();
  if (!(ms >= 0 && ms <= DAYS_MAX * DAY_MS))
    throw new ApiError('bad_request', { reason: `query.from: is at most ${DAYS_MAX} days before query.to` });
  return { from, to, groupBy: asked.groupBy ?? 'kind', kind: asked.kind ?? null };
}

export const usage = platform<Parts, RequestState>()
  .get(
    '/orgs/:id/usage',
    {
      ...needs('usage:read', 'organization'),
      tags,
      summary: 'Requests and CPU of an organization',
      query: usageQuery,
      response: Usage,
    },
    (ctx) => readUsage(ctx.env.sql, { ...toQuestion(ctx.query), organizationId: ctx.params.id, projectId: null }),
  )
  .get(
    '/projects/:id/usage',
    {
      ...needs('usage:read', 'project'),
      tags,
      summary: 'Requests and CPU of a project',
      query: usageQuery,
      response: Usage,
    },
    async (ctx) => {
      const { organizationId, projectId } = await ctx.state.access.project('usage:read', ctx.params.id);
      return readUsage(ctx.env.sql, { ...toQuestion(ctx.query), organizationId, projectId });
    },
  )
  .get(
    '/plans',
    {
      ...needs('account:read'),
      tags: ['plans'],
      summary: 'List the plans, with the CPU that one invocation may use',
      response: Type.Object({ items: Type.Array(PlanLimits) }),
    },
    (ctx) => {
      ctx.state.access.account('account:read');
      return {
        items: planNames.map((id) => ({
          id,
          cpuMs: Object.fromEntries(invocationKinds.map((kind) => [kind, ctx.env.cpuLimits[kind][id]])),
        })),
      };
    },
  )
  .put(
    '/orgs/:id/plan',
    {
      ...needs('operator'),
      tags: ['plans'],
      summary: 'Give an organization a plan; its deployments have it within a second',
      body: Type.Object({ plan: Plan }),
      response: Type.Object({ plan: Plan }),
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

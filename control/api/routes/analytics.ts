// Analytics of a project: requests by status class, failures, latency and CPU, over time, by route, and of two
// deployments side by side. Also measures calls of bindings.
import Type from '#core/typebox/typebox.mjs';
import { measuredKinds } from '#core/bindings/kinds.ts';
import { branchSlug } from '#core/names.ts';
import { invocationKinds, type InvocationKind } from '#core/plans.ts';
import { ofPreview } from '#core/preview.ts';
import { statusClasses } from '#core/usage-row.ts';
import { platform } from '#packages/worker/index.ts';
import type { Sql } from '#postgres/sql.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { analyticsTime, readAnalytics, readServing, routeOrders } from '../../records/analytics.ts';
import { readProductionChanges } from '../../records/production-changes.ts';
import { readBudget } from '../../records/usage.ts';
import { readWithin } from '../../telemetry/filter.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import { checkTimeRange } from '../../http/time-range.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ranges = { '15m': 15 * MINUTE_MS, '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS } as const;
const DAYS_MAX = 400;
const DeploymentId = Type.String({ maxLength: 64 });

/** Milliseconds, within 6.25 %; null if nothing was measured. */
export const LatencySchema = nullable(Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() }));
/** Requests by status class. `4xx`: also clients that left before a response. `other`: open WebSockets. */
export const StatusSchema = Type.Object(
  Object.fromEntries(statusClasses.map((name) => [name, Type.Integer()])) as Record<
    (typeof statusClasses)[number],
    ReturnType<typeof Type.Integer>
  >,
);
const counts = {
  requests: Type.Integer(),
  // Invocations with a status of 5xx, or an outcome that is not `ok`.
  failures: Type.Integer(),
  status: StatusSchema,
  cpuMs: Type.Number(),
  // CPU of the most expensive invocation; the budget limits each one.
  cpuMsMax: Type.Number(),
  firstByteMs: LatencySchema,
  // Time to the end of the response, of requests other than WebSockets.
  answerMs: LatencySchema,
};
const measured = {
  totals: Type.Object(counts),
  // Oldest first; intervals without requests are omitted.
  series: Type.Array(Type.Object({ at: Timestamp, ...counts })),
  // At most 100.
  routes: Type.Array(Type.Object({ route: Type.String(), ...counts })),
};

interface Asked {
  readonly range?: keyof typeof ranges | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** @throws {ApiError} if the range is negative, too long, or given twice. */
function timeOf({ range, from, to }: Asked) {
  if (range !== undefined && from !== undefined)
    throw new ApiError('bad_request', { reason: 'query.range: cannot be combined with query.from' });
  const now = Date.now();
  const end = new Date(to === undefined ? now : Date.parse(to));
  const begin = new Date(from === undefined ? end.getTime() - ranges[range ?? '1h'] : Date.parse(from));
  checkTimeRange(begin, end, DAYS_MAX);
  return analyticsTime(begin, end, now);
}

/** The name under which usage is counted for a branch's previews. */
async function readPreview(sql: Sql, projectId: string, branch: string): Promise<string> {
  const [project] = await sql<{ name: string }[]>`SELECT name FROM control.project WHERE id = ${projectId}`;
  return branchSlug(branch, project?.name ?? '');
}

export const analytics = platform<Dependencies, RequestState>().get(
  '/projects/:id/analytics',
  {
    ...needs('usage:read', 'project'),
    tags: ['usage'],
    summary: 'Requests by status class, failures, latency and CPU of a project',
    description:
      'All requests are counted. Without `from`, the response covers the last hour. Up to 25 hours are counted by minute. For queues, timers, schedules and workflows, `route` is the name. For `db`, `state` and `fs`, calls of bindings are counted, by resource: `route` is its name, and `answerMs` how long the calls took.',
    query: Type.Object({
      range: Type.Optional(Type.Enum(Object.keys(ranges) as (keyof typeof ranges)[])),
      from: Type.Optional(Timestamp),
      to: Type.Optional(Timestamp),
      kind: Type.Optional(Type.Enum([...invocationKinds, ...measuredKinds], { description: '`http` by default' })),
      route: Type.Optional(Type.String({ maxLength: 300, description: 'Such as `/api/users/*`' })),
      branch: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description: 'Only events and calls of the resources of this branch’s previews; not for `http`',
        }),
      ),
      deploymentId: Type.Optional(DeploymentId),
      compareTo: Type.Optional(Type.String({ maxLength: 64, description: 'Id of another deployment' })),
      order: Type.Optional(
        Type.Enum([...routeOrders], { description: 'Of the routes, descending; `latency`: p99 of the first byte' }),
      ),
    }),
    response: Type.Object({
      from: Timestamp,
      to: Timestamp,
      stepMs: Type.Integer(),
      deploymentId: nullable(Type.String()),
      // CPU milliseconds that one invocation of this kind may use; 0 means no limit.
      cpuBudgetMs: Type.Integer(),
      ...measured,
      // Deployments with requests, beginning with those that served last; at most 20.
      deployments: Type.Array(
        Type.Object({
          deploymentId: Type.String(),
          requests: Type.Integer(),
          failures: Type.Integer(),
          firstAt: Timestamp,
          lastAt: Timestamp,
        }),
      ),
      // The last 100 times when production moved to another deployment, oldest first.
      releases: Type.Array(
        Type.Object({
          at: Timestamp,
          deploymentId: Type.String(),
          commitSha: nullable(Type.String()),
          isRollback: Type.Boolean(),
        }),
      ),
      compared: nullable(Type.Object({ deploymentId: Type.String(), ...measured })),
    }),
  },
  async (ctx) => {
    const { organizationId, projectId } = await ctx.state.access.project('usage:read', ctx.params.id);
    const { kind = 'http', route, branch, deploymentId, compareTo, order = 'requests' } = ctx.query;
    const time = timeOf(ctx.query);
    if (branch !== undefined && (kind === 'http' || kind === 'object'))
      throw new ApiError('bad_request', { reason: `query.branch: not for ${kind}; use query.deploymentId` });
    const preview = branch === undefined ? null : await readPreview(ctx.env.sql, projectId, branch);
    const scope = {
      projectId,
      kind,
      route: route === undefined ? undefined : ofPreview(route, preview),
      preview,
      deploymentId,
    };
    const budget = await readBudget(ctx.env, organizationId);
    return readWithin(ctx.env.sql, ctx.env.telemetryLimits.scanMs, async (sql) => ({
      from: time.from.toISOString(),
      to: time.to.toISOString(),
      stepMs: time.stepMs,
      deploymentId: deploymentId ?? null,
      cpuBudgetMs: budget.cpuMs[kind as InvocationKind] ?? 0,
      ...(await readAnalytics(sql, scope, time, order)),
      deployments: await readServing(sql, scope, time),
      releases: await readProductionChanges(sql, projectId, time),
      compared:
        compareTo === undefined
          ? null
          : {
              deploymentId: compareTo,
              ...(await readAnalytics(sql, { ...scope, deploymentId: compareTo }, time, order)),
            },
    }));
  },
);

// The ledger of invocations and CPU (control.usage): one row per hour, deployment, kind and route, with the most
// expensive invocations.
import { cpuScale, quantile } from '#core/histogram.ts';
import type { CpuLimits } from '#core/limits.ts';
import { invocationKinds, type InvocationKind, type Plan } from '#core/plans.ts';
import type { CostlyInvocation, StatusClass } from '#core/usage-row.ts';
import type { Sql } from '#postgres/sql.ts';
import { NO_LATENCIES, readLatencies, type Latencies } from './latency.ts';

/** Grouping columns. */
export const usageGroups = ['hour', 'day', 'project', 'deployment', 'kind', 'route'] as const;

/** Selects a part of the ledger. */
interface UsageScope {
  readonly organizationId: string;
  /** Null means all projects of the organization. */
  readonly projectId: string | null;
  readonly from: Date;
  readonly to: Date;
  readonly kind: string | null;
  readonly route: string | null;
}

/** Selects usage. */
export interface UsageQuestion extends UsageScope {
  readonly groupBy: (typeof usageGroups)[number];
}

/** An invocation with its project, deployment, kind and route. */
interface NamedInvocation extends CostlyInvocation {
  readonly projectId: string;
  readonly deploymentId: string;
  readonly kind: InvocationKind;
  readonly route: string;
}

interface Group {
  readonly at: Date | null;
  readonly project_id: string | null;
  readonly deployment_id: string | null;
  readonly kind: string | null;
  readonly route: string | null;
}

interface Row extends Group {
  /** Key of the group, for its latencies. */
  readonly key: string;
  readonly invocations: number;
  readonly failures: number;
  readonly status: Readonly<Record<StatusClass, number>>;
  readonly cpu_ms: number;
  readonly host_cpu_ms: number;
  readonly cpu_ms_max: number;
  readonly worst: NamedInvocation | null;
}

interface BucketRow extends Group {
  readonly bucket: number;
  readonly count: number;
}

const ROWS_MAX = 1000;
const BUCKET_ROWS_MAX = ROWS_MAX * cpuScale.buckets;

const keyOf = ({ at, project_id: project, deployment_id: deployment, kind, route }: Group): string =>
  JSON.stringify([at, project, deployment, kind, route]);

const toCounts = (row: Row, buckets: readonly number[], latencies: Latencies = NO_LATENCIES) => ({
  invocations: row.invocations,
  failures: row.failures,
  status: row.status,
  ...latencies,
  cpuMs: row.cpu_ms,
  hostCpuMs: row.host_cpu_ms,
  cpuMsP50: quantile(cpuScale, buckets.entries(), 0.5, row.cpu_ms_max),
  cpuMsP99: quantile(cpuScale, buckets.entries(), 0.99, row.cpu_ms_max),
  cpuMsMax: row.cpu_ms_max,
  costliest: row.worst === null ? null : toNamed(row.worst),
});

const toNamed = ({ id, at, cpuMs, isFailure, projectId, deploymentId, kind, route }: NamedInvocation) => ({
  id,
  at: new Date(at).toISOString(),
  cpuMs,
  isFailure,
  projectId,
  deploymentId,
  kind,
  route,
});

/** Condition for the rows of a scope. */
function within(sql: Sql, { organizationId, projectId, from, to, kind, route }: UsageScope) {
  const ofProject =
    projectId === null
      ? sql`u.project_id IN (SELECT id FROM control.project WHERE organization_id = ${organizationId})`
      : sql`u.project_id = ${projectId}`;
  return sql`
    FROM control.usage u
    WHERE u.hour >= ${from} AND u.hour < ${to} AND ${ofProject}
      AND u.kind = ANY(${kind === null ? [...invocationKinds] : [kind]})
      ${route === null ? sql`` : sql`AND u.route = ${route}`}`;
}

const named = (sql: Sql) => sql`
  one || jsonb_build_object('projectId', u.project_id, 'deploymentId', u.deployment_id, 'kind', u.kind, 'route', u.route)`;

/** Sums usage. Hours that start within the range are included. */
export async function readUsage(sql: Sql, question: UsageQuestion) {
  const { from, to, groupBy } = question;
  const part = {
    hour: sql`hour`,
    day: sql`date_trunc('day', hour, 'UTC')`,
    project: sql`u.project_id`,
    deployment: sql`u.deployment_id`,
    kind: sql`u.kind`,
    route: sql`u.project_id, u.kind, u.route`,
  }[groupBy];
  const isTime = groupBy === 'hour' || groupBy === 'day';
  const shown = {
    at: isTime ? part : sql`NULL::timestamptz`,
    project: groupBy === 'project' || groupBy === 'route' ? sql`u.project_id` : sql`NULL::text`,
    deployment: groupBy === 'deployment' ? sql`u.deployment_id` : sql`NULL::text`,
    kind: groupBy === 'kind' || groupBy === 'route' ? sql`u.kind` : sql`NULL::text`,
    route: groupBy === 'route' ? sql`u.route` : sql`NULL::text`,
  };
  const group = sql`${shown.at} AS at, ${shown.project} AS project_id, ${shown.deployment} AS deployment_id,
    ${shown.kind} AS kind, ${shown.route} AS route`;
  const counted = within(sql, question);
  const sums = sql`
    coalesce(sum(invocations), 0)::bigint AS invocations, coalesce(sum(failures), 0)::bigint AS failures,
    coalesce(sum(cpu_ms), 0) AS cpu_ms, coalesce(sum(host_cpu_ms), 0) AS host_cpu_ms,
    coalesce(max(cpu_ms_max), 0) AS cpu_ms_max,
    jsonb_build_object('2xx', coalesce(sum(status_2xx), 0), '3xx', coalesce(sum(status_3xx), 0),
      '4xx', coalesce(sum(status_4xx), 0), '5xx', coalesce(sum(status_5xx), 0),
      'other', coalesce(sum(status_other), 0)) AS status,
    (array_agg((SELECT ${named(sql)} FROM jsonb_array_elements(u.costliest) AS one LIMIT 1) ORDER BY cpu_ms_max DESC)
      FILTER (WHERE u.costliest <> '[]'))[1] AS worst`;
  const key = sql`concat_ws(' ', ${part})`;
  const [[total], rows, buckets] = await Promise.all([
    sql<Row[]>`SELECT ${sums} ${counted}`,
    sql<Row[]>`
      SELECT ${group}, ${key} AS key, ${sums} ${counted}
      GROUP BY ${part} ORDER BY ${isTime ? sql`1` : sql`cpu_ms DESC`} LIMIT ${ROWS_MAX}`,
    sql<BucketRow[]>`
      SELECT ${group}, t.bucket::int AS bucket, sum(t.count)::bigint AS count
      FROM (SELECT * ${counted}) u, unnest(u.cpu_counts) WITH ORDINALITY AS t(count, bucket)
      GROUP BY ${part}, t.bucket ORDER BY t.bucket LIMIT ${BUCKET_ROWS_MAX}`,
  ]);
  const shownKeys = rows.map((row) => row.key);
  const latencies = await readLatencies(
    sql,
    sql`SELECT *, NULL::bigint AS series FROM (SELECT u.*, ${key} AS key ${counted}) AS keyed
      LEFT JOIN unnest(${shownKeys}::text[]) WITH ORDINALITY AS shown (key, part) USING (key)`,
  );
  const all: number[] = [];
  const ofGroup = new Map<string, number[]>();
  for (const row of buckets) {
    const key = keyOf(row);
    const counts = ofGroup.get(key) ?? [];
    ofGroup.set(key, counts);
    // Postgres arrays start at 1; all buckets before the last are present.
    counts[row.bucket - 1] = row.count;
    all[row.bucket - 1] = (all[row.bucket - 1] ?? 0) + row.count;
  }
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    totals: toCounts(total!, all, latencies.total),
    items: rows.map((row, index) => ({
      at: row.at?.toISOString() ?? null,
      projectId: row.project_id,
      deploymentId: row.deployment_id,
      kind: row.kind,
      route: row.route,
      ...toCounts(row, ofGroup.get(keyOf(row)) ?? [], latencies.parts.get(index + 1)),
    })),
  };
}

/** The invocations closest to their budget, the closest first; for kinds without a limit, by CPU. */
export async function readCostliest(sql: Sql, scope: UsageScope, budgets: Budgets, count: number) {
  const limits = sql.json(budgets as never);
  const rows = await sql<{ named: NamedInvocation }[]>`
    SELECT ${named(sql)} AS named
    FROM (SELECT * ${within(sql, scope)} AND u.costliest <> '[]') u, jsonb_array_elements(u.costliest) AS one
    ORDER BY (one->>'cpuMs')::float / coalesce(nullif((${limits}::jsonb->>u.kind)::float, 0), 1e9) DESC, one->>'id'
    LIMIT ${count}`;
  return rows.map((row) => toNamed(row.named));
}

/** CPU milliseconds per invocation by kind; 0 means no limit. */
type Budgets = Readonly<Record<InvocationKind, number>>;

/** Budgets of a plan. */
export function budgetsOf(limits: CpuLimits, plan: Plan): Budgets {
  const budgets = Object.entries(limits).map(([kind, byPlan]) => [kind, byPlan[plan]]);
  return { ...(Object.fromEntries(budgets) as Budgets), object: limits.http[plan] };
}

/** The plan of an organization with its budgets. */
export async function readBudget(
  { sql, cpuLimits }: { readonly sql: Sql; readonly cpuLimits: CpuLimits },
  organizationId: string,
): Promise<{ readonly plan: Plan; readonly cpuMs: Budgets }> {
  const [row] = await sql<{ plan: Plan }[]>`SELECT plan FROM control.organization WHERE id = ${organizationId}`;
  const { plan } = row!;
  return { plan, cpuMs: budgetsOf(cpuLimits, plan) };
}

// The ledger of invocations and CPU (control.usage): one row an hour, deployment, kind and route.
import type { Sql } from '#postgres/sql.ts';

/** By what usage is added up. */
export const usageGroups = ['hour', 'day', 'project', 'deployment', 'kind', 'route'] as const;

/** Which usage. */
export interface UsageQuestion {
  readonly organizationId: string;
  /** Null: all projects of the organization. */
  readonly projectId: string | null;
  readonly from: Date;
  readonly to: Date;
  readonly groupBy: (typeof usageGroups)[number];
  readonly kind: string | null;
}

interface Row {
  readonly at: Date | null;
  readonly project_id: string | null;
  readonly deployment_id: string | null;
  readonly kind: string | null;
  readonly route: string | null;
  readonly invocations: number;
  readonly failures: number;
  readonly cpu_ms: number;
  readonly host_cpu_ms: number;
  readonly cpu_ms_max: number;
}

const ROWS_MAX = 1000;

const toCounts = (row: Row) => ({
  invocations: row.invocations,
  failures: row.failures,
  cpuMs: row.cpu_ms,
  hostCpuMs: row.host_cpu_ms,
  cpuMsMax: row.cpu_ms_max,
});

/** Adds up; hours count that begin in the time. */
export async function readUsage(sql: Sql, { organizationId, projectId, from, to, groupBy, kind }: UsageQuestion) {
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
  const sums = sql`
    coalesce(sum(invocations), 0)::bigint AS invocations, coalesce(sum(failures), 0)::bigint AS failures,
    coalesce(sum(cpu_ms), 0) AS cpu_ms, coalesce(sum(host_cpu_ms), 0) AS host_cpu_ms,
    coalesce(max(cpu_ms_max), 0) AS cpu_ms_max`;
  const counted = sql`
    FROM control.usage u
    WHERE u.hour >= ${from} AND u.hour < ${to}
      AND ${projectId === null ? sql`u.project_id IN (SELECT id FROM control.project WHERE organization_id = ${organizationId})` : sql`u.project_id = ${projectId}`}
      ${kind === null ? sql`` : sql`AND u.kind = ${kind}`}`;
  const [total] = await sql<Row[]>`SELECT ${sums} ${counted}`;
  const rows = await sql<Row[]>`
    SELECT ${shown.at} AS at, ${shown.project} AS project_id, ${shown.deployment} AS deployment_id, ${shown.kind} AS kind,
      ${shown.route} AS route, ${sums}
    ${counted} GROUP BY ${part} ORDER BY ${isTime ? sql`1` : sql`cpu_ms DESC`} LIMIT ${ROWS_MAX}`;
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    totals: toCounts(total!),
    items: rows.map((row) => ({
      at: row.at?.toISOString() ?? null,
      projectId: row.project_id,
      deploymentId: row.deployment_id,
      kind: row.kind,
      route: row.route,
      ...toCounts(row),
    })),
  };
}

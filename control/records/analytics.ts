// Requests, status classes, failures, latency and CPU of a project over time and by route, from the ledgers by minute
// and by hour (control/usage/store.ts). The counts are exact, without sampling.
import { previewSeparator } from '#core/preview.ts';
import type { StatusClass } from '#core/usage-row.ts';
import type { Sql } from '#postgres/sql.ts';
import { NO_LATENCIES, readLatencies, type Latencies } from './latency.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** How long usage is stored by minute; older usage is only stored by hour. */
export const MINUTES_KEPT_MS = 2 * DAY_MS;
/** How many routes with the most requests are measured, and how many of these are returned. */
const [ROUTES_MEASURED, ROUTES_MAX] = [200, 100];
const DEPLOYMENTS_MAX = 20;

/** Sort orders of routes, descending: requests, failures, p99 of the time to first byte, CPU. */
export const routeOrders = ['requests', 'errors', 'latency', 'cpu'] as const;
type RouteOrder = (typeof routeOrders)[number];

/** The time range of a response, whose bounds are multiples of its step. */
interface AnalyticsTime {
  readonly from: Date;
  readonly to: Date;
  readonly stepMs: number;
  readonly table: 'usage' | 'usage_minute';
}

/** Selects a part of a project's usage. */
interface AnalyticsScope {
  readonly projectId: string;
  readonly kind: string;
  readonly route: string | undefined;
  /** Slug of the branch whose previews own the resources; null means no restriction. */
  readonly preview: string | null;
  readonly deploymentId: string | undefined;
}

/** Counts of a group. */
interface AnalyticsCounts extends Latencies {
  readonly requests: number;
  readonly failures: number;
  readonly status: Readonly<Record<StatusClass, number>>;
  readonly cpuMs: number;
  /** CPU of the most expensive invocation. */
  readonly cpuMsMax: number;
}

interface SumRow {
  readonly requests: number;
  readonly failures: number;
  readonly s2: number;
  readonly s3: number;
  readonly s4: number;
  readonly s5: number;
  readonly other: number;
  readonly cpu_ms: number;
  readonly cpu_ms_max: number;
}

const steps = [
  { table: 'usage_minute', stepMs: MINUTE_MS, spanMs: 2 * HOUR_MS },
  { table: 'usage_minute', stepMs: 5 * MINUTE_MS, spanMs: 12 * HOUR_MS },
  { table: 'usage_minute', stepMs: 15 * MINUTE_MS, spanMs: 25 * HOUR_MS },
  { table: 'usage', stepMs: HOUR_MS, spanMs: 8 * DAY_MS },
  { table: 'usage', stepMs: 6 * HOUR_MS, spanMs: 50 * DAY_MS },
  { table: 'usage', stepMs: DAY_MS, spanMs: Number.POSITIVE_INFINITY },
] as const;

/**
 * Extends a time range to multiples of a step: the finest stored step with which the range has at most 200 intervals,
 * or 400 for a year.
 */
export function analyticsTime(from: Date, to: Date, now: number): AnalyticsTime {
  const span = to.getTime() - from.getTime();
  const hasMinutes = from.getTime() >= now - MINUTES_KEPT_MS;
  const { table, stepMs } = steps.find((step) => span <= step.spanMs && (hasMinutes || step.table === 'usage'))!;
  return {
    table,
    stepMs,
    from: new Date(Math.floor(from.getTime() / stepMs) * stepMs),
    to: new Date(Math.ceil(to.getTime() / stepMs) * stepMs),
  };
}

/** Totals, intervals (empty ones are omitted) and routes of a scope. */
export async function readAnalytics(sql: Sql, scope: AnalyticsScope, time: AnalyticsTime, order: RouteOrder) {
  const rows = rowsOf(sql, scope, time);
  const sums = sql`
    coalesce(sum(invocations), 0)::bigint AS requests, coalesce(sum(failures), 0)::bigint AS failures,
    coalesce(sum(status_2xx), 0)::bigint AS s2, coalesce(sum(status_3xx), 0)::bigint AS s3,
    coalesce(sum(status_4xx), 0)::bigint AS s4, coalesce(sum(status_5xx), 0)::bigint AS s5,
    coalesce(sum(status_other), 0)::bigint AS other, coalesce(sum(cpu_ms + host_cpu_ms), 0) AS cpu_ms,
    coalesce(max(cpu_ms_max), 0) AS cpu_ms_max`;
  const summed = await sql<(SumRow & { series: number | null })[]>`
    SELECT series, ${sums} FROM (${rows}) AS used GROUP BY GROUPING SETS ((), (series)) ORDER BY series`;
  const byRoute = await sql<(SumRow & { route: string })[]>`
    SELECT route, ${sums} FROM (${rows}) AS used GROUP BY route ORDER BY requests DESC LIMIT ${ROUTES_MEASURED}`;
  const measured = byRoute.map(({ route }) => route);
  const latencies = await readLatencies(
    sql,
    sql`SELECT * FROM (${rows}) AS used
      LEFT JOIN unnest(${measured}::text[]) WITH ORDINALITY AS measured (route, part) USING (route)`,
  );
  const total = summed.find(({ series }) => series === null)!;
  return {
    totals: toCounts(total, latencies.total),
    series: summed.flatMap((row) =>
      row.series === null
        ? []
        : [{ at: new Date(row.series).toISOString(), ...toCounts(row, latencies.series.get(row.series)) }],
    ),
    routes: byRoute
      .map((row, index) => ({ route: row.route, ...toCounts(row, latencies.parts.get(index + 1)) }))
      .toSorted((a, b) => rank[order](b) - rank[order](a))
      .slice(0, ROUTES_MAX),
  };
}

const rank: Readonly<Record<RouteOrder, (counts: AnalyticsCounts) => number>> = {
  requests: ({ requests }) => requests,
  errors: ({ failures }) => failures,
  latency: ({ firstByteMs }) => firstByteMs?.p99 ?? 0,
  cpu: ({ cpuMs }) => cpuMs,
};

/** Deployments with requests in the time range, beginning with those that served last, for a comparison. */
export async function readServing(sql: Sql, scope: AnalyticsScope, time: AnalyticsTime) {
  const rows = await sql<{ id: string; requests: number; failures: number; first: Date; last: Date }[]>`
    SELECT deployment_id AS id, sum(invocations)::bigint AS requests, sum(failures)::bigint AS failures,
      min(at) AS first, max(at) AS last
    FROM (${rowsOf(sql, { ...scope, deploymentId: undefined }, time)}) AS used
    GROUP BY deployment_id ORDER BY last DESC, requests DESC LIMIT ${DEPLOYMENTS_MAX}`;
  return rows.map(({ id, requests, failures, first, last }) => ({
    deploymentId: id,
    requests,
    failures,
    firstAt: first.toISOString(),
    lastAt: last.toISOString(),
  }));
}

/** Rows of a scope, with their time as `at`, and the start of their interval in ms since 1970 as `series`. */
function rowsOf(sql: Sql, { projectId, kind, route, preview, deploymentId }: AnalyticsScope, time: AnalyticsTime) {
  const { from, to, stepMs, table } = time;
  const column = sql(table === 'usage' ? 'hour' : 'minute');
  return sql`
    SELECT *, ${column} AS at, (floor(extract(epoch FROM ${column}) * 1000 / ${stepMs}) * ${stepMs})::bigint AS series
    FROM ${sql(`control.${table}`)}
    WHERE project_id = ${projectId} AND ${column} >= ${from} AND ${column} < ${to} AND kind = ${kind}
      ${route === undefined ? sql`` : sql`AND route = ${route}`}
      ${preview === null ? sql`` : sql`AND split_part(route, ${previewSeparator}, 2) = ${preview}`}
      ${deploymentId === undefined ? sql`` : sql`AND deployment_id = ${deploymentId}`}`;
}

function toCounts(row: SumRow, latencies: Latencies = NO_LATENCIES): AnalyticsCounts {
  const { requests, failures, s2, s3, s4, s5, other, cpu_ms: cpuMs, cpu_ms_max: cpuMsMax } = row;
  return {
    requests,
    failures,
    status: { '2xx': s2, '3xx': s3, '4xx': s4, '5xx': s5, other },
    cpuMs,
    cpuMsMax,
    ...latencies,
  };
}

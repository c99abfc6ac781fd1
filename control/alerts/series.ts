// Values of a rule in the last windows, for the graph with its threshold. Called by the routes of alert rules.
import { invocationKinds } from '#core/plans.ts';
import type { Sql } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { MINUTES_KEPT_MS } from '../records/analytics.ts';
import { readLatencies, type Rows } from '../records/latency.ts';
import { budgetsOfProject, MEASURED_MIN, type Measured } from './measure.ts';

const WINDOWS_MAX = 60;

/** Values of consecutive windows. */
interface AlertSeries {
  readonly from: string;
  readonly to: string;
  readonly stepMs: number;
  /** Oldest first; windows with too little data are omitted. */
  readonly items: readonly { readonly at: string; readonly value: number }[];
}

/**
 * The value of a rule in each of the last sixty windows, at most two days, as measure.ts computes it for the current
 * one.
 *
 * @returns null for rules without a window: their values are not stored.
 */
export async function readAlertSeries(
  { cpuLimits }: Pick<Dependencies, 'cpuLimits'>,
  sql: Sql,
  rule: Measured,
  now = Date.now(),
): Promise<AlertSeries | null> {
  const { project_id: projectId, kind, window_seconds: seconds } = rule;
  if (projectId === null || kind === 'ai_budget' || kind === 'certificate' || kind === 'disk') return null;
  const stepMs = seconds * 1000;
  const to = Math.ceil(now / stepMs) * stepMs;
  const from = to - stepMs * Math.min(WINDOWS_MAX, Math.max(1, Math.floor(MINUTES_KEPT_MS / stepMs)));
  const rows: Rows = sql`
    SELECT *, (floor(extract(epoch FROM minute) * 1000 / ${stepMs}) * ${stepMs})::bigint AS series, NULL::bigint AS part
    FROM control.usage_minute
    WHERE project_id = ${projectId} AND minute >= ${new Date(from)} AND minute < ${new Date(to)}
      AND kind = ANY(${[...invocationKinds]})`;
  const values =
    kind === 'error_rate'
      ? await failureRates(sql, rows)
      : kind === 'latency'
        ? await latencies(sql, rows)
        : await cpuShares(sql, rows, await budgetsOfProject(sql, cpuLimits, projectId));
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    stepMs,
    items: values
      .toSorted((one, other) => one.series - other.series)
      .map(({ series, value }) => ({ at: new Date(series).toISOString(), value })),
  };
}

type Values = readonly { readonly series: number; readonly value: number }[];

function failureRates(sql: Sql, rows: Rows): Promise<Values> {
  return sql<{ series: number; value: number }[]>`
    SELECT series, 100 * sum(failures)::float / sum(invocations)::float AS value
    FROM (${rows}) AS used GROUP BY series HAVING sum(invocations) >= ${MEASURED_MIN}`;
}

async function latencies(sql: Sql, rows: Rows): Promise<Values> {
  const requests: Rows = sql`SELECT * FROM (${rows}) AS used WHERE kind = 'http'`;
  const counted = await sql<{ series: number }[]>`
    SELECT series FROM (${requests}) AS used, unnest(first_byte_counts) AS count
    GROUP BY series HAVING sum(count) >= ${MEASURED_MIN}`;
  const { series } = await readLatencies(sql, requests);
  return counted.flatMap(({ series: at }) => {
    const p99 = series.get(at)?.firstByteMs?.p99;
    return p99 === undefined ? [] : [{ series: at, value: p99 }];
  });
}

function cpuShares(sql: Sql, rows: Rows, budgets: Readonly<Record<string, number>>): Promise<Values> {
  return sql<{ series: number; value: number }[]>`
    SELECT series, max(100 * cpu_ms_max / budget) AS value
    FROM (SELECT series, cpu_ms_max, (${sql.json(budgets)}::jsonb->>kind)::float AS budget FROM (${rows}) AS used) AS measured
    WHERE budget > 0 GROUP BY series`;
}

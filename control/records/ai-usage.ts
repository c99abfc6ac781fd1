// Usage of AI calls (control.ai_usage, written by the gateway): sums and single calls.
import type { Sql } from '#postgres/sql.ts';
import type { TimePage } from '../http/page.ts';
import { timestampOfColumn, newestFirst } from './timestamp.ts';

/** Grouping columns. */
export const aiUsageGroups = ['model', 'project', 'deployment', 'branch', 'kind', 'key', 'run', 'hour', 'day'] as const;

/** Selects calls by owner. */
interface Of {
  readonly organizationId: string;
  /** Null means the whole organization. */
  readonly projectId: string | null;
}

/** Selects usage. */
export interface AiUsageQuestion extends Of {
  readonly from: Date;
  readonly to: Date;
  readonly groupBy: (typeof aiUsageGroups)[number];
}

/** A row of control.ai_usage. */
export interface AiCallRow {
  readonly id: string;
  readonly at: Date;
  readonly kind: string;
  readonly project_id: string | null;
  readonly deployment_id: string | null;
  readonly branch: string | null;
  readonly run_id: string | null;
  readonly model_requested: string;
  readonly model: string | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly is_estimated: boolean;
  readonly cost_micros: number | null;
  readonly status: number;
  readonly is_stream: boolean;
  readonly first_byte_ms: number | null;
  readonly total_ms: number;
  readonly position: string;
}

interface Sums {
  readonly at: Date | null;
  readonly group: string | null;
  readonly calls: number;
  readonly failures: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_micros: number;
  readonly unpriced: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

const ROWS_MAX = 1000;

const toCounts = (row: Sums) => ({
  calls: row.calls,
  failures: row.failures,
  promptTokens: row.prompt_tokens,
  completionTokens: row.completion_tokens,
  cachedTokens: row.cached_tokens,
  reasoningTokens: row.reasoning_tokens,
  costMicros: row.cost_micros,
  unpriced: row.unpriced,
  firstByteMsP50: row.p50,
  firstByteMsP99: row.p99,
});

const ofProject = (sql: Sql, { projectId }: Of) => (projectId === null ? sql`` : sql`AND project_id = ${projectId}`);

export async function readAiUsage(sql: Sql, question: AiUsageQuestion) {
  const { organizationId, from, to, groupBy } = question;
  const isTime = groupBy === 'hour' || groupBy === 'day';
  const part = {
    model: sql`coalesce(model, model_requested)`,
    project: sql`project_id`,
    deployment: sql`deployment_id`,
    branch: sql`branch`,
    kind: sql`kind`,
    key: sql`key_id`,
    run: sql`run_id`,
    hour: sql`date_trunc('hour', at, 'UTC')`,
    day: sql`date_trunc('day', at, 'UTC')`,
  }[groupBy];
  const rows = await sql<(Sums & { is_total: boolean })[]>`
    WITH calls AS (
      SELECT *, ${isTime ? part : sql`NULL::timestamptz`} AS of_time, ${isTime ? sql`NULL::text` : part} AS of_group
      FROM control.ai_usage
      WHERE organization_id = ${organizationId} AND at >= ${from} AND at < ${to} ${ofProject(sql, question)}
    )
    SELECT of_time AS at, of_group AS group, GROUPING(of_time, of_group) = 3 AS is_total, count(*)::int AS calls,
      count(*) FILTER (WHERE status >= 400 AND status <> 499)::int AS failures,
      coalesce(sum(prompt_tokens), 0)::float8 AS prompt_tokens,
      coalesce(sum(completion_tokens), 0)::float8 AS completion_tokens,
      coalesce(sum(cached_tokens), 0)::float8 AS cached_tokens,
      coalesce(sum(reasoning_tokens), 0)::float8 AS reasoning_tokens,
      coalesce(sum(cost_micros), 0)::float8 AS cost_micros,
      count(*) FILTER (WHERE cost_micros IS NULL AND prompt_tokens + completion_tokens > 0)::int AS unpriced,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY first_byte_ms) AS p50,
      percentile_cont(0.99) WITHIN GROUP (ORDER BY first_byte_ms) AS p99
    FROM calls GROUP BY GROUPING SETS ((of_time, of_group), ())
    ORDER BY is_total DESC, ${isTime ? sql`of_time` : sql`sum(prompt_tokens + completion_tokens) DESC, of_group`}
    LIMIT ${ROWS_MAX + 1}`;
  const total = rows.find((row) => row.is_total)!;
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    totals: toCounts(total),
    items: rows
      .filter((row) => !row.is_total)
      .map((row) => ({ at: row.at?.toISOString() ?? null, group: row.group, ...toCounts(row) })),
  };
}

/** The newest first. */
export function listAiCalls(
  sql: Sql,
  asked: Of & { readonly model: string | null; readonly run: string | null; readonly isFailed: boolean },
  page: TimePage,
): Promise<AiCallRow[]> {
  const { organizationId, model, run, isFailed } = asked;
  return sql<AiCallRow[]>`
    SELECT *, ${timestampOfColumn(sql, 'at')} AS position
    FROM control.ai_usage
    WHERE organization_id = ${organizationId} ${ofProject(sql, asked)}
      ${model === null ? sql`` : sql`AND coalesce(model, model_requested) = ${model}`}
      ${run === null ? sql`` : sql`AND run_id = ${run}`}
      ${isFailed ? sql`AND status >= 400 AND status <> 499` : sql``}
      ${newestFirst(sql, page, '', 'at')}`;
}

// Sums usage rows in Postgres: the total and its groups in one query.
import type { Postgres } from '#postgres/connection.ts';
import type { UsageGroup, UsageQuestion, UsageSum, UsageSums } from '../../contract/contract.ts';

const keys: Readonly<Record<UsageGroup, string>> = {
  model: 'model',
  deployment: 'deployment_id',
  day: `to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};
/** Sums of numbers reported by clients and providers, capped at the largest exact integer. */
const sum = (column: string): string =>
  `least(coalesce(sum(${column}), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS ${column}`;

const select = (by: UsageGroup): string => `
  SELECT key, grouping(key) = 1 AS is_total, count(*) AS calls, count(*) FILTER (WHERE status >= 400) AS failed_calls,
    ${['prompt_tokens', 'completion_tokens', 'cached_tokens', 'reasoning_tokens', 'cost_micros'].map(sum).join(', ')},
    count(*) FILTER (WHERE cost_micros IS NULL) AS unpriced_calls
  FROM (
    SELECT *, ${keys[by]} AS key FROM control.ai_usage
     WHERE organization_id = $1 AND at >= to_timestamp($2::double precision / 1000)
       AND at < to_timestamp($3::double precision / 1000)
       AND ($4::text IS NULL OR project_id = $4) AND ($5::text IS NULL OR deployment_id = $5)
  ) AS u
  GROUP BY GROUPING SETS ((key), ())
  ORDER BY grouping(key) DESC, ${by === 'day' ? '' : 'sum(prompt_tokens + completion_tokens) DESC,'}
    key COLLATE "C" NULLS FIRST
  LIMIT $6`;

interface Row {
  readonly key: string | null;
  readonly is_total: boolean;
  readonly calls: number;
  readonly failed_calls: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost_micros: number;
  readonly unpriced_calls: number;
}

export async function readSums(sql: Postgres, question: UsageQuestion): Promise<UsageSums> {
  const { organizationId, projectId, deploymentId, from, to, by, groupsMax } = question;
  // The total and one extra group, which shows whether there are more groups than `groupsMax`.
  const most = groupsMax + 2;
  const rows = await sql.all<Row>(select(by), organizationId, from, to, projectId, deploymentId, most);
  const groups = rows.filter(({ is_total: isTotal }) => !isTotal);
  return {
    total: sumOf(rows.find(({ is_total: isTotal }) => isTotal)!),
    groups: groups.slice(0, groupsMax).map((row) => ({ key: row.key, ...sumOf(row) })),
    hasMore: groups.length > groupsMax,
  };
}

function sumOf(row: Row): UsageSum {
  return {
    calls: row.calls,
    failedCalls: row.failed_calls,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    cachedTokens: row.cached_tokens,
    reasoningTokens: row.reasoning_tokens,
    costMicros: row.cost_micros,
    unpricedCalls: row.unpriced_calls,
  };
}

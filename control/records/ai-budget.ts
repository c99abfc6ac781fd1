// Cost of AI calls in the current month (UTC), the forecast for its end, and the budget. Called by the routes of AI
// usage.
import type { Sql } from '#postgres/sql.ts';

const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
const MICROS = 1_000_000;

/** The current month of an organization or a project. Amounts in millionths of the price table's currency. */
interface AiMonth {
  readonly from: string;
  readonly to: string;
  readonly spentMicros: number;
  /** Expected cost at the end of the month. */
  readonly forecastMicros: number;
  /** The limit on cost per month, or null. */
  readonly budgetMicros: number | null;
  /** Calls of the month whose model has no price: their cost is not counted. */
  readonly unpriced: number;
}

/** @param projectId null means the whole organization. */
export async function readAiMonth(
  sql: Sql,
  of: { readonly organizationId: string; readonly projectId: string | null },
  now = Date.now(),
): Promise<AiMonth> {
  const { organizationId, projectId } = of;
  const { from, to } = monthOf(now);
  const week = new Date(now - WEEK_DAYS * DAY_MS);
  const since = from < week ? from : week;
  const [sums] = await sql<[{ spent: number; week: number; unpriced: number }]>`
    SELECT coalesce(sum(cost_micros) FILTER (WHERE at >= ${from}), 0)::float8 AS spent,
      coalesce(sum(cost_micros) FILTER (WHERE at >= ${week}), 0)::float8 AS week,
      count(*) FILTER (WHERE at >= ${from} AND cost_micros IS NULL AND prompt_tokens + completion_tokens > 0)::int AS unpriced
    FROM control.ai_usage
    WHERE organization_id = ${organizationId} AND at >= ${since}
      ${projectId === null ? sql`` : sql`AND project_id = ${projectId}`}`;
  const [set] = await sql<{ most: number }[]>`
    SELECT (set->>'most')::float8 AS most FROM control.ai_settings, jsonb_array_elements(limits) AS set
    WHERE organization_id = ${organizationId} AND project_id IS NOT DISTINCT FROM ${projectId}
      AND set->>'of' = 'cost' AND set->>'per' = 'month'`;
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    spentMicros: sums.spent,
    forecastMicros: forecastOf(sums.spent, sums.week, to.getTime() - now),
    budgetMicros: set === undefined ? null : Math.round(set.most * MICROS),
    unpriced: sums.unpriced,
  };
}

/**
 * Expected cost if each remaining day costs as much as the average of the last seven.
 * @example forecastOf(10, 7, 5 * 86_400_000) // 15
 */
export const forecastOf = (spent: number, lastWeek: number, leftMs: number): number =>
  Math.round(spent + (lastWeek / WEEK_DAYS) * (leftMs / DAY_MS));

function monthOf(now: number): { readonly from: Date; readonly to: Date } {
  const day = new Date(now);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  return { from: new Date(Date.UTC(year, month)), to: new Date(Date.UTC(year, month + 1)) };
}

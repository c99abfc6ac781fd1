// When a cost limit is set, counts the cost of earlier calls, so that the limit's counter starts with the right value.
// Called by the control plane when an organization sets its own limits or the limits of a project.
import type { Statements } from '#postgres/connection.ts';
import type { SetLimit } from '../accounts.ts';
import { counterKey } from '../room.ts';
import { windowOf } from '../window.ts';

/** Never lowers a counter, because old usage rows may already be deleted. */
const COUNT = `
  INSERT INTO control.ai_counter AS c (key, starts_at, ends_at, used)
  SELECT $1::text, $2::timestamptz, $3::timestamptz, coalesce(sum(cost_micros), 0)::bigint FROM control.ai_usage
   WHERE organization_id = $4 AND at >= $2::timestamptz AND ($5::text IS NULL OR project_id = $5)
  ON CONFLICT (key, starts_at) DO UPDATE SET used = greatest(c.used, excluded.used)`;

/** @param projectId null for limits of the organization. @param at ms since 1970. */
export async function countSpent(
  sql: Statements,
  of: { readonly organizationId: string; readonly projectId: string | null },
  limits: readonly SetLimit[],
  at: number,
): Promise<void> {
  const { organizationId, projectId } = of;
  const scope = projectId === null ? 'organization' : 'project';
  for (const limit of limits) {
    if (limit.of !== 'cost') continue;
    const { startsAt, endsAt } = windowOf(limit.per, at);
    await sql.all(
      COUNT,
      counterKey({ ...limit, scope }, projectId ?? organizationId),
      new Date(startsAt).toISOString(),
      new Date(endsAt).toISOString(),
      organizationId,
      projectId,
    );
  }
}

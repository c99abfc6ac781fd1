// Reads calls between projects of an organization from stored spans: which services and objects of others a project
// calls, and which projects call it. Called by the route of the API.
import type { Sql } from '#postgres/sql.ts';
import type { Fragment, Span } from './filter.ts';

/** Maximum rows per direction; those with the most calls are returned. */
const ROWS_MAX = 100;

/** Calls with the same project and name. */
interface CallCounts {
  /** The other project. */
  readonly project: string;
  /** Binding and method, such as `AUTH.verify`. */
  readonly name: string;
  readonly calls: number;
  readonly failures: number;
  readonly msP50: number;
  readonly msP99: number;
}

/**
 * Calls of and to a project. @param withCallers whether projects that call it may be named.
 */
export async function readCalls(
  sql: Sql,
  { projectId, organizationId }: { readonly projectId: string; readonly organizationId: string },
  span: Span,
  withCallers: boolean,
): Promise<{ calls: CallCounts[]; callers: CallCounts[] }> {
  const calls = await counted(
    sql,
    sql`attributes->>'peer.service' AS project, name, error, ms, attributes`,
    sql`project_id = ${projectId}`,
    span,
  );
  const [own] = await sql<{ name: string }[]>`SELECT name FROM control.project WHERE id = ${projectId}`;
  const others = withCallers
    ? await sql<{ id: string }[]>`
        SELECT id FROM control.project
        WHERE organization_id = ${organizationId} AND id <> ${projectId} AND deleted_at IS NULL`
    : [];
  if (others.length === 0 || own === undefined) return { calls, callers: [] };
  const callers = await counted(
    sql,
    sql`(SELECT p.name FROM control.project p WHERE p.id = project_id) AS project, name, error, ms, attributes`,
    sql`project_id = ANY(${others.map(({ id }) => id)}) AND attributes->>'peer.service' = ${own.name}`,
    span,
  );
  return { calls, callers };
}

async function counted(sql: Sql, columns: Fragment, condition: Fragment, { from, to }: Span): Promise<CallCounts[]> {
  return sql<CallCounts[]>`
    SELECT project, name, count(*)::int AS calls,
      count(*) FILTER (WHERE error IS NOT NULL OR attributes->>'http.response.status_code' LIKE '5__')::int AS failures,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS "msP50",
      percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS "msP99"
    FROM (SELECT ${columns} FROM control.span
      WHERE ${condition} AND kind = 3 AND attributes ? 'peer.service' AND at >= ${from} AND at < ${to}) AS call
    GROUP BY project, name ORDER BY calls DESC, project, name LIMIT ${ROWS_MAX}`;
}

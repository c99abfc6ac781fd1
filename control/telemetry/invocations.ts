// Reads stored invocations: pages in order from the newest, the most expensive invocations, single invocations, and
// counts over time.
import type { RequestDetails } from '#core/telemetry.ts';
import type { Sql } from '#postgres/sql.ts';
import {
  cursorOf,
  timestampColumn,
  storedCondition,
  type Fragment,
  type Span,
  type StoredPosition,
  type StoredQuestion,
} from './filter.ts';

/** Filters of invocations. */
interface InvocationQuestion extends StoredQuestion {
  readonly method?: string | undefined;
  /** The exact path, or a prefix followed by `*`. */
  readonly path?: string | undefined;
  /** Response status, such as `404`, or a class such as `5xx`. */
  readonly status?: string | undefined;
  /** `failed` (also by a status of 5xx), `ok` (all others), or an error code. */
  readonly outcome?: string | undefined;
}

/** Sort orders: the newest first, or the highest usage first. */
export const invocationOrders = ['time', 'cpu', 'wall'] as const;
type InvocationOrder = (typeof invocationOrders)[number];

interface Row {
  readonly seq: number;
  readonly at: Date;
  readonly moment: string;
  readonly deployment_id: string;
  readonly branch: string;
  readonly invocation: string;
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly route: string;
  readonly status: number;
  readonly outcome: string;
  readonly error: string;
  readonly cpu_ms: number;
  readonly wall_ms: number;
  readonly first_byte_ms: number | null;
  readonly trace_id: string | null;
}

/** The API's view of an invocation. */
const toInvocation = (row: Row) => ({
  id: row.invocation,
  at: row.at.toISOString(),
  kind: row.kind,
  method: row.method,
  path: row.path,
  route: row.route,
  status: row.status,
  outcome: row.outcome,
  isFailure: row.outcome !== 'ok' || row.status >= 500,
  error: row.error,
  cpuMs: row.cpu_ms,
  wallMs: row.wall_ms,
  firstByteMs: row.first_byte_ms,
  deploymentId: row.deployment_id,
  branch: row.branch,
  traceId: row.trace_id,
});
type StoredInvocation = ReturnType<typeof toInvocation>;

/** The API's view of the details of a request. */
const toRequest = ({ query, headers, client, requestBytes, responseBytes }: RequestDetails) => ({
  query,
  headers: headers.map(([name, value]) => ({ name, value })),
  client: client === '' ? null : client,
  requestBytes,
  responseBytes,
});

/** Failures are invocations with a failed outcome, or with a 5xx status of the worker. */
const isFailure = (sql: Sql): Fragment => sql`(outcome <> 'ok' OR status >= 500)`;

function outcomeCondition(sql: Sql, outcome: string | undefined): Fragment {
  if (outcome === undefined) return sql``;
  if (outcome === 'failed') return sql`AND ${isFailure(sql)}`;
  return outcome === 'ok' ? sql`AND NOT ${isFailure(sql)}` : sql`AND outcome = ${outcome}`;
}

function statusCondition(sql: Sql, status: string | undefined): Fragment {
  if (status === undefined) return sql``;
  const first = Number.parseInt(status, 10);
  return status.endsWith('xx') ? sql`AND status / 100 = ${first}` : sql`AND status = ${first}`;
}

function condition(sql: Sql, projectId: string, asked: InvocationQuestion): Fragment {
  const { method, path, status, outcome } = asked;
  const byPath =
    path === undefined
      ? sql``
      : path.endsWith('*')
        ? sql`AND starts_with(path, ${path.slice(0, -1)})`
        : sql`AND path = ${path}`;
  return sql`${storedCondition(sql, projectId, asked)}
    ${method === undefined ? sql`` : sql`AND method = ${method}`}
    ${statusCondition(sql, status)} ${outcomeCondition(sql, outcome)} ${byPath}`;
}

/** A page of invocations. If the invocations are sorted by usage, there is only one page. */
export async function readInvocations(
  sql: Sql,
  projectId: string,
  asked: InvocationQuestion,
  { from, to }: Span,
  page: { readonly limit: number; readonly after: StoredPosition | null; readonly order: InvocationOrder },
): Promise<{ items: StoredInvocation[]; nextCursor: string | null }> {
  const { limit, after, order } = page;
  const by = { time: sql`at DESC, seq DESC`, cpu: sql`cpu_ms DESC, seq DESC`, wall: sql`wall_ms DESC, seq DESC` }[
    order
  ];
  const rows = await sql<Row[]>`
    SELECT seq, at, deployment_id, branch, invocation, kind, method, path, route, status, outcome, error, cpu_ms,
      wall_ms, first_byte_ms, trace_id, ${timestampColumn(sql)}
    FROM control.invocation
    WHERE ${condition(sql, projectId, asked)} AND at >= ${from} AND at < ${to}
      ${after === null ? sql`` : sql`AND (at, seq) < (${after.at}::timestamptz, ${after.seq})`}
    ORDER BY ${by} LIMIT ${limit + 1}`;
  const shown = rows.slice(0, limit);
  const hasMore = order === 'time' && rows.length > limit;
  return { items: shown.map(toInvocation), nextCursor: hasMore ? cursorOf(shown.at(-1)!) : null };
}

/** An invocation by id, with the details of its request; null if it is not stored. */
export async function findInvocation(sql: Sql, projectId: string, id: string) {
  const [row] = await sql<(Row & { readonly request: RequestDetails | null })[]>`
    SELECT * FROM control.invocation WHERE project_id = ${projectId} AND invocation = ${id} ORDER BY at DESC LIMIT 1`;
  if (row === undefined) return null;
  return { ...toInvocation(row), request: row.request === null ? null : toRequest(row.request) };
}

/** Number of invocations per interval; empty intervals are omitted. */
export async function countInvocations(
  sql: Sql,
  projectId: string,
  asked: InvocationQuestion,
  { from, to, bucketMs }: Span & { readonly bucketMs: number },
) {
  const rows = await sql<{ bucket: number; ok: number; failed: number; cpu_ms: number; p50: number; p99: number }[]>`
    SELECT floor(extract(epoch FROM at - ${from}) * 1000 / ${bucketMs})::bigint AS bucket,
      count(*) FILTER (WHERE NOT ${isFailure(sql)}) AS ok, count(*) FILTER (WHERE ${isFailure(sql)}) AS failed,
      sum(cpu_ms)::double precision AS cpu_ms,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_ms) AS p50,
      percentile_cont(0.99) WITHIN GROUP (ORDER BY wall_ms) AS p99
    FROM control.invocation
    WHERE ${condition(sql, projectId, asked)} AND at >= ${from} AND at < ${to}
    GROUP BY bucket ORDER BY bucket`;
  return rows.map(({ bucket, ok, failed, cpu_ms: cpuMs, p50, p99 }) => ({
    at: new Date(from.getTime() + bucket * bucketMs).toISOString(),
    ok,
    failed,
    cpuMs,
    wallMsP50: p50,
    wallMsP99: p99,
  }));
}

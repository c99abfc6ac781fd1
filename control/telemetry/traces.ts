// Reads stored traces: a list of traces that began on the platform, newest first, and single traces with their spans.
import type { Sql } from '#postgres/sql.ts';
import type { SpanAttributes } from '#core/telemetry.ts';
import { cursorOf, timestampColumn, type Fragment, type Span, type StoredPosition } from './filter.ts';

/** Filters of traces, by their first span. */
interface TraceQuestion {
  readonly deploymentId?: string | undefined;
  readonly branch?: string | undefined;
  /** The route of a request; otherwise the name of the queue, timer, schedule or workflow. */
  readonly route?: string | undefined;
  /** Response status, such as `404`, or a class such as `5xx`. */
  readonly status?: string | undefined;
  /** Part of the name, case-insensitive. */
  readonly search?: string | undefined;
  /** Only failed ones. */
  readonly failed?: boolean | undefined;
  /** Minimum duration in ms. */
  readonly msMin?: number | undefined;
}

interface Row {
  readonly seq: number;
  readonly at: Date;
  readonly moment: string;
  readonly start_ms: number;
  readonly deployment_id: string;
  readonly branch: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | null;
  readonly is_root: boolean;
  readonly name: string;
  readonly kind: number;
  readonly ms: number;
  readonly error: string | null;
  readonly invocation: string;
  readonly attributes: SpanAttributes;
  readonly links: readonly string[];
}

/** Kinds by their number. */
export const spanKindNames = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
/** Maximum number of spans returned per trace. */
export const SPANS_SHOWN_MAX = 2000;

/** A page of traces. */
export async function readTraces(
  sql: Sql,
  projectId: string,
  asked: TraceQuestion,
  { from, to }: Span,
  page: { readonly limit: number; readonly after: StoredPosition | null },
) {
  const { deploymentId, branch, route, status, search, failed, msMin } = asked;
  const { limit, after } = page;
  const condition: Fragment = sql`project_id = ${projectId} AND is_root AND at >= ${from} AND at < ${to}
    ${deploymentId === undefined ? sql`` : sql`AND deployment_id = ${deploymentId}`}
    ${branch === undefined ? sql`` : sql`AND branch = ${branch}`}
    ${route === undefined ? sql`` : sql`AND coalesce(attributes->>'http.route', attributes->>'platform.name') = ${route}`}
    ${status === undefined ? sql`` : sql`AND attributes->>'http.response.status_code' LIKE ${status.replace('xx', '__')}`}
    ${search === undefined || search === '' ? sql`` : sql`AND name ILIKE ${`%${search.replace(/[\\%_]/g, '\\$&')}%`}`}
    ${failed === true ? sql`AND error IS NOT NULL` : sql``}
    ${msMin === undefined ? sql`` : sql`AND ms >= ${msMin}`}
    ${after === null ? sql`` : sql`AND (at, seq) < (${after.at}::timestamptz, ${after.seq})`}`;
  const rows = await sql<(Row & { readonly spans: number; readonly failures: number })[]>`
    SELECT root.*, counted.spans, counted.failures
    FROM (SELECT *, ${timestampColumn(sql)} FROM control.span WHERE ${condition}
      ORDER BY at DESC, seq DESC LIMIT ${limit + 1}) AS root,
    LATERAL (SELECT count(*) AS spans, count(*) FILTER (WHERE error IS NOT NULL) AS failures
      FROM control.span WHERE project_id = ${projectId} AND trace_id = root.trace_id) AS counted
    ORDER BY root.at DESC, root.seq DESC`;
  const shown = rows.slice(0, limit);
  return {
    items: shown.map((row) => ({
      traceId: row.trace_id,
      at: row.at.toISOString(),
      name: row.name,
      ms: row.ms,
      status: Number(row.attributes['http.response.status_code'] ?? 0),
      error: row.error,
      deploymentId: row.deployment_id,
      branch: row.branch,
      invocation: row.invocation,
      spans: row.spans,
      failures: row.failures,
    })),
    nextCursor: rows.length > limit ? cursorOf(shown.at(-1)!) : null,
  };
}

/** The spans of a trace by start time; null if none is stored. */
export async function readTrace(sql: Sql, projectId: string, traceId: string) {
  const rows = await sql<Row[]>`
    SELECT *, extract(epoch FROM at)::double precision * 1000 AS start_ms FROM control.span
    WHERE project_id = ${projectId} AND trace_id = ${traceId} ORDER BY at, seq LIMIT ${SPANS_SHOWN_MAX}`;
  const [first] = rows;
  if (first === undefined) return null;
  const end = Math.max(...rows.map(({ start_ms: start, ms }) => start + ms));
  return {
    traceId,
    at: first.at.toISOString(),
    ms: end - first.start_ms,
    spans: rows.map((row) => ({
      spanId: row.span_id,
      parentId: row.parent_id,
      name: row.name,
      kind: spanKindNames[row.kind] ?? 'unspecified',
      at: row.at.toISOString(),
      startMs: row.start_ms - first.start_ms,
      ms: row.ms,
      error: row.error,
      deploymentId: row.deployment_id,
      branch: row.branch,
      invocation: row.invocation,
      attributes: row.attributes,
      links: [...row.links],
    })),
  };
}

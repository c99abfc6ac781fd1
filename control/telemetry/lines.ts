// Reads stored lines: pages from the newest on, lines after a number, and counts over time.
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

/** Levels by their number in the table. */
export const lineLevels = ['debug', 'info', 'warn', 'error'] as const;
type LineLevel = (typeof lineLevels)[number];

/** Filters of lines. */
export interface LineQuestion extends StoredQuestion {
  /** Minimum level. */
  readonly level?: LineLevel | undefined;
  /** Part of the text, case-insensitive. */
  readonly search?: string | undefined;
  /** Regular expression of Postgres for the text, case-insensitive. */
  readonly regex?: string | undefined;
  readonly invocation?: string | undefined;
}

/** A row of the table. */
export interface LineRow {
  readonly seq: number;
  readonly at: Date;
  readonly deployment_id: string;
  readonly branch: string;
  readonly level: number;
  readonly kind: string | null;
  readonly route: string;
  readonly invocation: string | null;
  readonly trace_id: string | null;
  readonly text: string;
}

/** The API's view of a line. */
export const toLine = (row: LineRow) => ({
  id: String(row.seq),
  at: row.at.toISOString(),
  level: lineLevels[row.level]!,
  text: row.text,
  deploymentId: row.deployment_id,
  branch: row.branch,
  kind: row.kind,
  route: row.route,
  invocation: row.invocation,
  traceId: row.trace_id,
});
export type StoredLine = ReturnType<typeof toLine>;

const columns = (sql: Sql): Fragment =>
  sql`seq, at, ${timestampColumn(sql)}, deployment_id, branch, level, kind, route, invocation, trace_id, text`;

function condition(sql: Sql, projectId: string, asked: LineQuestion): Fragment {
  const { level, search, regex, invocation } = asked;
  return sql`${storedCondition(sql, projectId, asked)}
    ${level === undefined ? sql`` : sql`AND level >= ${lineLevels.indexOf(level)}`}
    ${search === undefined || search === '' ? sql`` : sql`AND text ILIKE ${`%${search.replace(/[\\%_]/g, '\\$&')}%`}`}
    ${regex === undefined ? sql`` : sql`AND text ~* ${regex}`}
    ${invocation === undefined ? sql`` : sql`AND invocation = ${invocation}`}`;
}

/** A page, the newest first. */
export async function readLines(
  sql: Sql,
  projectId: string,
  asked: LineQuestion,
  { from, to }: Span,
  page: { readonly limit: number; readonly after: StoredPosition | null },
): Promise<{ items: StoredLine[]; nextCursor: string | null }> {
  const { limit, after } = page;
  const rows = await sql<(LineRow & { readonly moment: string })[]>`
    SELECT ${columns(sql)} FROM control.log_line
    WHERE ${condition(sql, projectId, asked)} AND at >= ${from} AND at < ${to}
      ${after === null ? sql`` : sql`AND (at, seq) < (${after.at}::timestamptz, ${after.seq})`}
    ORDER BY at DESC, seq DESC LIMIT ${limit + 1}`;
  const shown = rows.slice(0, limit);
  return { items: shown.map(toLine), nextCursor: rows.length > limit ? cursorOf(shown.at(-1)!) : null };
}

/** Lines after a number, in ascending order. */
export async function readLinesAfter(
  sql: Sql,
  projectId: string,
  asked: LineQuestion,
  seq: number,
  limit: number,
): Promise<StoredLine[]> {
  const rows = await sql<LineRow[]>`
    SELECT ${columns(sql)} FROM control.log_line
    WHERE ${condition(sql, projectId, asked)} AND seq > ${seq} ORDER BY seq LIMIT ${limit}`;
  return rows.map(toLine);
}

/**
 * Lines after a number, in ascending order, for a caller that continues after `last`: the number of the last line that
 * was read, whether it matched or not.
 */
export async function followLines(
  sql: Sql,
  projectId: string,
  asked: LineQuestion,
  seq: number,
  limit: number,
): Promise<{ readonly lines: readonly StoredLine[]; readonly last: number }> {
  // The newest number is read first: since numbers follow the order of commits (store.ts), the next query sees all
  // lines up to it.
  const [newest] = await sql<{ seq: number | null }[]>`
    SELECT max(seq) AS seq FROM control.log_line WHERE project_id = ${projectId} AND seq > ${seq}`;
  if (newest!.seq === null) return { lines: [], last: seq };
  const lines = await readLinesAfter(sql, projectId, asked, seq, limit);
  const matched = Number(lines.at(-1)?.id ?? seq);
  return { lines, last: lines.length < limit ? Math.max(matched, newest!.seq) : matched };
}

/** The number of the last line of any project. */
export async function lastSeq(sql: Sql): Promise<number> {
  const [row] = await sql<{ last_value: number; is_called: boolean }[]>`
    SELECT last_value, is_called FROM control.telemetry_seq`;
  return row!.is_called ? row!.last_value : 0;
}

/** Number of lines by level per interval; empty intervals are omitted. */
export async function countLines(
  sql: Sql,
  projectId: string,
  asked: LineQuestion,
  { from, to, bucketMs }: Span & { readonly bucketMs: number },
) {
  const rows = await sql<{ bucket: number; debug: number; info: number; warn: number; error: number }[]>`
    SELECT floor(extract(epoch FROM at - ${from}) * 1000 / ${bucketMs})::bigint AS bucket,
      count(*) FILTER (WHERE level = 0) AS debug, count(*) FILTER (WHERE level = 1) AS info,
      count(*) FILTER (WHERE level = 2) AS warn, count(*) FILTER (WHERE level = 3) AS error
    FROM control.log_line
    WHERE ${condition(sql, projectId, asked)} AND at >= ${from} AND at < ${to}
    GROUP BY bucket ORDER BY bucket`;
  return rows.map(({ bucket, ...counts }) => ({
    at: new Date(from.getTime() + bucket * bucketMs).toISOString(),
    ...counts,
  }));
}

/** Dropped records in a range, by the hours that it overlaps. */
export async function readDropped(sql: Sql, projectId: string, { from, to }: Span) {
  const [row] = await sql<{ lines: number; invocations: number; spans: number }[]>`
    SELECT coalesce(sum(dropped_lines), 0)::bigint AS lines,
      coalesce(sum(dropped_invocations), 0)::bigint AS invocations, coalesce(sum(dropped_spans), 0)::bigint AS spans
    FROM control.telemetry_hour
    WHERE project_id = ${projectId} AND hour > ${new Date(from.getTime() - 3_600_000)} AND hour < ${to}`;
  return { lines: row!.lines, invocations: row!.invocations, spans: row!.spans };
}

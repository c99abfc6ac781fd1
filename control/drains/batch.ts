// Reads the next batch of a drain: matching lines after its cursor, limited by number and bytes. Called by
// deliver.ts.
import type { Sql } from '#postgres/sql.ts';
import { toLine, type LineRow, type StoredLine } from '../telemetry/lines.ts';

/** The lines that a drain receives. */
export interface DrainFilter {
  readonly project_id: string;
  /** Minimum level, as a number. */
  readonly level: number;
  /** Null means all lines, including those outside of invocations. */
  readonly kinds: readonly string[] | null;
  readonly branch: string | null;
}

/** A batch of lines. */
export interface DrainBatch {
  readonly lines: readonly StoredLine[];
  /** The cursor after the batch was delivered. */
  readonly cursor: number;
  /** Whether more lines may follow. */
  readonly isFull: boolean;
}

/** Maximum number of lines scanned per batch. */
const SCANNED_MAX = 20_000;

/** @returns null if there are no lines after the cursor. */
export async function readBatch(
  sql: Sql,
  { project_id: projectId, level, kinds, branch }: DrainFilter,
  cursor: number,
  { linesMax, bytesMax }: { readonly linesMax: number; readonly bytesMax: number },
): Promise<DrainBatch | null> {
  const [scanned] = await sql<{ last: number | null; count: number }[]>`
    SELECT max(seq) AS last, count(*)::int AS count FROM (
      SELECT seq FROM control.log_line WHERE project_id = ${projectId} AND seq > ${cursor}
      ORDER BY seq LIMIT ${SCANNED_MAX}) AS scanned`;
  const { last, count } = scanned!;
  if (last === null) return null;
  const rows = await sql<(LineRow & { readonly fitting: number })[]>`
    SELECT * FROM (
      SELECT *, sum(octet_length(text)) OVER (ORDER BY seq) AS bytes, count(*) OVER ()::int AS fitting FROM (
        SELECT seq, at, deployment_id, branch, level, kind, route, invocation, trace_id, text FROM control.log_line
        WHERE project_id = ${projectId} AND seq > ${cursor} AND seq <= ${last} AND level >= ${level}
          ${kinds === null ? sql`` : sql`AND kind = ANY(${[...kinds]})`}
          ${branch === null ? sql`` : sql`AND branch = ${branch}`}
        ORDER BY seq LIMIT ${linesMax}) AS fits) AS summed
    WHERE bytes <= ${bytesMax} OR bytes = octet_length(text) ORDER BY seq`;
  const end = rows.at(-1);
  const isCut = end !== undefined && (rows.length < end.fitting || rows.length === linesMax);
  return { lines: rows.map(toLine), cursor: isCut ? end.seq : last, isFull: isCut || count === SCANNED_MAX };
}

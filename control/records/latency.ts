// Reads the histograms of latency from the tables of usage: merged by Postgres, with quantiles computed here. Used by
// analytics.ts, usage.ts and alerts.
import { latencyOf, type Latency, type SparseCounts } from '#core/histogram.ts';
import type { Sql } from '#postgres/sql.ts';

/** Quantiles of both latencies, as the API returns them; null if nothing was measured. */
export interface Latencies {
  readonly firstByteMs: Latency | null;
  readonly answerMs: Latency | null;
}

/** Latencies of all rows, and by the two columns of the query. */
interface GroupedLatencies {
  readonly total: Latencies;
  readonly series: ReadonlyMap<number, Latencies>;
  readonly parts: ReadonlyMap<number, Latencies>;
}

/** A query, as a part of a statement. */
export type Rows = ReturnType<Sql>;

/** Nothing was measured. */
export const NO_LATENCIES: Latencies = { firstByteMs: null, answerMs: null };

interface Merged extends SparseCounts {
  readonly series: number | null;
  readonly part: number | null;
  readonly grouping: number;
  readonly is_answer: boolean;
}

/** Values of `GROUPING(series, part)`: rows of the total, of one `series`, and of one `part`. */
const [ALL, BY_SERIES, BY_PART] = [3, 1, 2];

/**
 * @param rows a query with the bigint columns `series` and `part`, and the four columns of histograms. Rows whose
 * `part` is null count for the total and for `series`. The columns are numbers, because Postgres sorts millions of rows
 * by them, and sorting texts takes twice as long.
 */
export async function readLatencies(sql: Sql, rows: Rows): Promise<GroupedLatencies> {
  const merged = await sql<Merged[]>`
    SELECT series, part, grouping, is_answer, array_agg(bucket::int ORDER BY bucket) AS buckets,
      array_agg(count::float ORDER BY bucket) AS counts
    FROM (
      SELECT series, part, GROUPING(series, part) AS grouping, is_answer, bucket, sum(count) AS count
      FROM (${rows}) AS used,
        LATERAL (
          SELECT false, * FROM unnest(used.first_byte_buckets, used.first_byte_counts)
          UNION ALL SELECT true, * FROM unnest(used.answer_buckets, used.answer_counts)
        ) AS counted (is_answer, bucket, count)
      GROUP BY GROUPING SETS ((is_answer, bucket), (series, is_answer, bucket), (part, is_answer, bucket))) AS summed
    GROUP BY series, part, grouping, is_answer`;
  let total = NO_LATENCIES;
  const [series, parts] = [new Map<number, Latencies>(), new Map<number, Latencies>()];
  for (const row of merged) {
    const found = { [row.is_answer ? 'answerMs' : 'firstByteMs']: latencyOf(row) };
    if (row.grouping === ALL) total = { ...total, ...found };
    if (row.grouping === BY_SERIES && row.series !== null) add(series, row.series, found);
    if (row.grouping === BY_PART && row.part !== null) add(parts, row.part, found);
  }
  return { total, series, parts };
}

function add(groups: Map<number, Latencies>, group: number, found: Partial<Latencies>): void {
  groups.set(group, { ...(groups.get(group) ?? NO_LATENCIES), ...found });
}

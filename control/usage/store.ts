// Adds the rows of a batch of usage to the ledger by hour (control.usage) and by minute (control.usage_minute), and
// deletes old minutes. Called by collect.ts.
import { COSTLIEST_MAX, mergeUsage, type TimedUsageRow } from '#core/usage-row.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { MINUTES_KEPT_MS } from '../records/analytics.ts';

/** Columns that are added up, with their fields in the JSON rows. */
const sums = [
  'invocations bigint',
  'failures bigint',
  'status_2xx bigint',
  'status_3xx bigint',
  'status_4xx bigint',
  'status_5xx bigint',
  'status_other bigint',
  'cpu_ms double precision',
  'host_cpu_ms double precision',
] as const;
const names = sums.map((column) => column.split(' ', 1)[0]!);
const histograms = ['first_byte', 'answer'] as const;

const added = names.map((name) => `${name} = kept.${name} + excluded.${name}`).join(', ');
/** SQL that adds new histograms to the stored histograms. */
const merged = histograms
  .map(
    (name) => `(${name}_buckets, ${name}_counts) = (
      SELECT coalesce(array_agg(bucket ORDER BY bucket), '{}'), coalesce(array_agg(count ORDER BY bucket), '{}')
      FROM (
        SELECT bucket, sum(count)::bigint AS count FROM (
          SELECT * FROM unnest(kept.${name}_buckets, kept.${name}_counts)
          UNION ALL SELECT * FROM unnest(excluded.${name}_buckets, excluded.${name}_counts)
        ) AS both_of (bucket, count) GROUP BY bucket
      ) AS buckets)`,
  )
  .join(', ');
const histogramTypes = histograms.map((name) => `${name}_buckets smallint[], ${name}_counts bigint[]`).join(', ');
const histogramNames = histograms.map((name) => `${name}_buckets, ${name}_counts`).join(', ');
const costliestMerged = `
  cpu_counts = (
    SELECT coalesce(array_agg(coalesce(one, 0) + coalesce(other, 0) ORDER BY bucket), '{}')
    FROM unnest(kept.cpu_counts, excluded.cpu_counts) WITH ORDINALITY AS both_of (one, other, bucket)),
  costliest = (
    SELECT coalesce(jsonb_agg(one ORDER BY (one->>'cpuMs')::float DESC), '[]') FROM (
      SELECT one FROM jsonb_array_elements(kept.costliest || excluded.costliest) AS one
      ORDER BY (one->>'cpuMs')::float DESC LIMIT ${COSTLIEST_MAX}) AS worst)`;

/** The statement that adds rows to a table. Rows of projects that are not in the database are omitted. */
function statement(table: 'usage' | 'usage_minute'): string {
  const [time, costliest] = table === 'usage' ? ['hour', true] : ['minute', false];
  const own = `${names.join(', ')}, cpu_ms_max, ${histogramNames}${costliest ? ', cpu_counts, costliest' : ''}`;
  return `
    INSERT INTO control.${table} AS kept (${time}, project_id, deployment_id, kind, route, ${own})
    SELECT used.time, project.id, used.deployment, used.kind, used.route, ${own}
    FROM jsonb_to_recordset($1::jsonb) AS used (time timestamptz, project text, deployment text, kind text, route text,
      ${sums.join(', ')}, cpu_ms_max double precision, ${histogramTypes}, cpu_counts bigint[], costliest jsonb)
    JOIN control.project ON project.name = used.project AND project.deleted_at IS NULL
    ON CONFLICT (project_id, ${time}, deployment_id, kind, route) DO UPDATE SET ${added},
      cpu_ms_max = greatest(kept.cpu_ms_max, excluded.cpu_ms_max), ${merged}${costliest ? `, ${costliestMerged}` : ''}`;
}

const addHours = statement('usage');
const addMinutes = statement('usage_minute');

/** Adds the rows of a batch. */
export async function addUsage(tx: Transaction, rows: readonly TimedUsageRow[]): Promise<void> {
  const hours = new Map<string, TimedUsageRow>();
  for (const row of rows) {
    const key = `${row.hour} ${row.project} ${row.deployment} ${row.kind} ${row.route}`;
    const before = hours.get(key);
    hours.set(key, before === undefined ? row : mergeUsage(before, row));
  }
  await tx.unsafe(addHours, [tx.json([...hours.values()].map((row) => toColumns(row, row.hour)) as never) as never]);
  const minutes = rows.flatMap((row) => (row.minute === null ? [] : [toColumns(row, row.minute)]));
  if (minutes.length > 0) await tx.unsafe(addMinutes, [tx.json(minutes as never) as never]);
}

function toColumns(row: TimedUsageRow, time: string): object {
  const { project, deployment, kind, route, invocations, failures, cpuMs, hostCpuMs, cpuMsMax } = row;
  const [status2, status3, status4, status5, other] = row.statuses;
  return {
    time,
    project,
    deployment,
    kind,
    route,
    invocations,
    failures,
    status_2xx: status2,
    status_3xx: status3,
    status_4xx: status4,
    status_5xx: status5,
    status_other: other,
    cpu_ms: cpuMs,
    host_cpu_ms: hostCpuMs,
    cpu_ms_max: cpuMsMax,
    first_byte_buckets: row.firstByte.buckets,
    first_byte_counts: row.firstByte.counts,
    answer_buckets: row.answer.buckets,
    answer_counts: row.answer.counts,
    cpu_counts: row.cpuCounts,
    costliest: row.costliest,
  };
}

/** Deletes expired minutes. */
export async function sweepMinutes(sql: Sql, now: number = Date.now()): Promise<void> {
  await sql`DELETE FROM control.usage_minute WHERE minute < ${new Date(now - MINUTES_KEPT_MS)}`;
}

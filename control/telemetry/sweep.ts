// Deletes expired days of lines, invocations and spans, and the oldest records of projects that exceed their limit, in
// small transactions. Called by collect.ts periodically.
import type { Sql } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { dropPartitions, telemetryTables } from './partitions.ts';

const PROJECTS_MAX = 1000;
const HOUR_MS = 3_600_000;
/** Approximate number of bytes deleted per transaction. */
const PIECE_BYTES = 32 * 1024 * 1024;

/** @param deps including the limits. */
export async function sweepTelemetry(
  {
    sql,
    log,
    telemetryLimits: { retentionMs, projectBytesMax },
  }: Pick<Dependencies, 'sql' | 'log' | 'telemetryLimits'>,
  now: number = Date.now(),
): Promise<void> {
  const dropped = await dropPartitions(sql, now - retentionMs);
  if (dropped.length > 0) log.info({ partitions: dropped }, 'Log lines and invocations deleted by age');
  await sql`DELETE FROM control.telemetry_hour WHERE hour < ${new Date(now - 2 * retentionMs)}`;
  await sql`DELETE FROM control.idempotency WHERE actor = 'telemetry' AND created_at < now() - interval '1 hour'`;
  const full = await sql<{ project_id: string; bytes: number }[]>`
    SELECT project_id, sum(bytes)::bigint AS bytes FROM control.telemetry_hour
    GROUP BY project_id HAVING sum(bytes) > ${projectBytesMax} LIMIT ${PROJECTS_MAX}`;
  for (const { project_id: projectId, bytes } of full) {
    const before = await trim(sql, projectId, bytes - projectBytesMax);
    log.info(
      { projectId, before: before?.toISOString() ?? null },
      'Log lines and invocations deleted by size (LOG_PROJECT_BYTES_MAX)',
    );
  }
}

/**
 * Deletes the oldest records of a project until the given number of bytes is freed. @returns the time of the oldest
 * remaining partition.
 */
async function trim(sql: Sql, projectId: string, bytes: number): Promise<Date | null> {
  for (let left = bytes; ;) {
    const [hour] = await sql<{ hour: Date; bytes: number }[]>`
      SELECT hour, bytes FROM control.telemetry_hour
      WHERE project_id = ${projectId} AND bytes > 0 ORDER BY hour LIMIT 1`;
    if (hour === undefined || left <= 0) return hour?.hour ?? null;
    // Approximation: the records of an hour are of similar size.
    const end = new Date(hour.hour.getTime() + HOUR_MS);
    const share = Math.min(1, Math.min(left, PIECE_BYTES) / hour.bytes);
    const gone = share === 1 ? hour.bytes : Math.ceil(share * hour.bytes);
    await sql.begin(async (tx) => {
      for (const table of telemetryTables) {
        // Older hours are included, because late records are counted in a later hour.
        const [found] = await tx.unsafe<{ until: Date | null }[]>(
          `SELECT percentile_disc($3::double precision) WITHIN GROUP (ORDER BY at) AS until FROM control.${table}
           WHERE project_id = $1 AND at < $2`,
          [projectId, end, share],
        );
        if (found?.until == null) continue;
        await tx.unsafe(`DELETE FROM control.${table} WHERE project_id = $1 AND at <= $2`, [projectId, found.until]);
      }
      await tx`
        UPDATE control.telemetry_hour SET bytes = bytes - ${gone}
        WHERE project_id = ${projectId} AND hour = ${hour.hour}`;
    });
    left -= gone;
  }
}

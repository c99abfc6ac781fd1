// Forgets lines, invocations and spans: days that are over their time, and of projects that keep too much their oldest
// hours. Called by collect.ts now and then.
import type { Parts } from '../parts.ts';
import { dropPartitions, telemetryTables } from './partitions.ts';

const PROJECTS_MAX = 1000;

/** @param parts with their bounds. */
export async function sweepTelemetry(
  { sql, log, telemetryLimits: { retentionMs, projectBytesMax } }: Pick<Parts, 'sql' | 'log' | 'telemetryLimits'>,
  now: number = Date.now(),
): Promise<void> {
  const dropped = await dropPartitions(sql, now - retentionMs);
  if (dropped.length > 0) log.info({ partitions: dropped }, 'Lines and invocations dropped by age');
  await sql`DELETE FROM control.telemetry_hour WHERE hour < ${new Date(now - 2 * retentionMs)}`;
  await sql`DELETE FROM control.idempotency WHERE actor = 'telemetry' AND created_at < now() - interval '1 hour'`;
  // Hours from the newest on, added up: those behind the bound go.
  const full = await sql<{ project_id: string; before: Date }[]>`
    SELECT project_id, max(hour) + interval '1 hour' AS before FROM (
      SELECT project_id, hour, sum(bytes) OVER (PARTITION BY project_id ORDER BY hour DESC) AS bytes_since
      FROM control.telemetry_hour WHERE bytes > 0
    ) AS hours WHERE bytes_since > ${projectBytesMax} GROUP BY project_id LIMIT ${PROJECTS_MAX}`;
  for (const { project_id: projectId, before } of full) {
    for (const table of telemetryTables)
      await sql.unsafe(`DELETE FROM control.${table} WHERE project_id = $1 AND at < $2`, [projectId, before]);
    await sql`UPDATE control.telemetry_hour SET bytes = 0 WHERE project_id = ${projectId} AND hour < ${before}`;
    log.info(
      { projectId, before: before.toISOString() },
      'Lines and invocations dropped by size (LOG_PROJECT_BYTES_MAX)',
    );
  }
}

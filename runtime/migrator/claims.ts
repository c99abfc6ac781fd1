// The rows of `control.migration_run`: claims the next row, extends its lease, and ends the run. If the holder of a run
// has died, the run is due again when its lease expires. This module uses no project database.
import type { Sql } from '#postgres/sql.ts';

/** A claimed run. */
export interface ClaimedRun {
  readonly id: string;
  readonly deploymentId: string;
  readonly projectId: string;
  /** Name of the project, which is also the namespace of its databases. */
  readonly projectName: string;
  readonly artifact: string;
  /** Branch of the databases; null means the databases of production. */
  readonly branch: string | null;
  /** The account that requested the migrations. */
  readonly requestedBy: string | null;
  /** From 1. */
  readonly attempt: number;
  readonly lease: string;
  /** Since the request. */
  readonly ageMs: number;
  /** Why the run is no longer needed. */
  readonly obsolete: string | null;
}

/** The result of a run. */
interface RunEnd {
  readonly status: 'success' | 'failure' | 'canceled';
  readonly error: string | null;
  /** The result for each database. */
  readonly databases: readonly object[];
}

/** Notifies waiting clients, and tells migrators that another run can start. */
export const CHANNEL = 'control_migration';
const AGAIN_MS = 1000;
const UNIQUE_VIOLATION = '23505';

/**
 * The next due run. For a project with a running run, only that run.
 *
 * @param own the runs of this process. If the lease of one of them has expired anyway, another process continues it.
 */
export async function claimRun(
  sql: Sql,
  lease: string,
  leaseMs: number,
  own: readonly string[],
): Promise<ClaimedRun | null> {
  try {
    const [row] = await sql<ClaimedRun[]>`
      UPDATE control.migration_run r SET status = 'running', attempt = r.attempt + 1, lease = ${lease},
        lease_until = now() + ${leaseMs} * interval '1 ms', started_at = coalesce(r.started_at, now())
      FROM control.project p
      WHERE p.id = r.project_id AND r.id = (
        SELECT due.id FROM control.migration_run due
        WHERE due.status IN ('queued', 'running') AND due.due_at <= now()
          AND (due.lease_until IS NULL OR due.lease_until <= now()) AND due.id <> ALL(${[...own]})
          AND NOT EXISTS (SELECT FROM control.migration_run other
            WHERE other.project_id = due.project_id AND other.status = 'running' AND other.id <> due.id)
        ORDER BY due.created_at, due.id LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING r.id, r.deployment_id AS "deploymentId", r.project_id AS "projectId", p.name AS "projectName",
        r.artifact, r.branch, r.requested_by AS "requestedBy", r.attempt, r.lease,
        (extract(epoch FROM now() - r.created_at) * 1000)::float8 AS "ageMs",
        CASE WHEN p.deleted_at IS NOT NULL THEN 'The project was deleted'
          WHEN EXISTS (SELECT FROM control.branch b WHERE b.project_id = r.project_id AND b.name = r.branch
            AND b.removed_at IS NOT NULL) THEN 'The branch was removed' END AS obsolete`;
    return row ?? null;
  } catch (error) {
    // Another migrator has just begun a run of the same project.
    if ((error as { code?: unknown }).code === UNIQUE_VIOLATION) return null;
    throw error;
  }
}

/** Extends the leases of running runs. */
export async function renewRuns(sql: Sql, member: string, ids: readonly string[], leaseMs: number): Promise<void> {
  await sql`
    UPDATE control.migration_run SET lease_until = now() + ${leaseMs} * interval '1 ms'
    WHERE id = ANY(${[...ids]}) AND status = 'running' AND starts_with(lease, ${`${member}.`})`;
}

/** Ends the run, if the lease is still held. */
export async function endRun(sql: Sql, { id, lease }: ClaimedRun, end: RunEnd): Promise<void> {
  const { status, error, databases } = storable(end);
  await sql.begin(async (tx) => {
    await tx`
      UPDATE control.migration_run SET status = ${status}, error_message = ${error}, lease = NULL, lease_until = NULL,
        databases = ${tx.json(databases as never)}, finished_at = now()
      WHERE id = ${id} AND lease = ${lease} AND status = 'running'`;
    await tx`SELECT pg_notify(${CHANNEL}, ${id})`;
  });
}

/** Postgres accepts neither NUL nor lone surrogates; messages and statements of tenants may contain both. */
function storable(end: RunEnd): RunEnd {
  return JSON.parse(JSON.stringify(end), (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll('\0', '').toWellFormed() : value,
  ) as RunEnd;
}

/** Releases the run for another attempt. This attempt is not counted, because the run did not cause the obstacle. */
export async function releaseRun(sql: Sql, { id, lease }: ClaimedRun): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`
      UPDATE control.migration_run SET status = 'queued', lease = NULL, lease_until = NULL, attempt = attempt - 1,
        due_at = now() + ${AGAIN_MS} * interval '1 ms'
      WHERE id = ${id} AND lease = ${lease} AND status = 'running'`;
    await tx`SELECT pg_notify(${CHANNEL}, ${id})`;
  });
}

// Requests the migrations of a deployment from the migrator and waits for the result
// (DB_MIGRATIONS_EXECUTOR=migrator). Called by apply-migrations.ts; it applies no migrations itself.
import { Failure } from '#core/failure.ts';
import { createWake } from '#core/process/wake.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import type { MigratedDatabase } from './engines.ts';

/** A request for migrations. */
interface MigrationWish {
  readonly deploymentId: string;
  readonly artifact: string;
  /** Branch of the databases; null means production. */
  readonly branch: string | null;
  /** The account that requested the migrations. */
  readonly requestedBy: string | null;
}

/** Result of a run. */
export interface EndedRun {
  readonly databases: readonly MigratedDatabase[];
  /** Null if all migrations are applied. */
  readonly error: string | null;
}

type RunDeps = Pick<Dependencies, 'sql' | 'onNotify' | 'stopping'>;

interface State {
  readonly status: 'queued' | 'running' | 'success' | 'failure' | 'canceled';
  readonly error: string | null;
  readonly databases: readonly MigratedDatabase[] | null;
  /** Whether no migrator has reported for a while. */
  readonly isLonely: boolean;
}

/** How long a migrator may send no report, since it may be restarting. */
const LONELY_MS = 60_000;
const POLL_MS = 1000;
const OPEN_LOOKS = 5;

/**
 * Has the migrator apply a deployment's migrations. Joins a run in progress for the same databases, since a release
 * that is taken over requests them again.
 *
 * @throws {Failure} `engines_away` if no migrator is running; the request is withdrawn, so that none starts it later.
 */
export async function runByMigrator(deps: RunDeps, wish: MigrationWish): Promise<EndedRun> {
  const { sql, stopping } = deps;
  const wake = createWake(stopping);
  const unlisten = await deps.onNotify('control_migration', wake.now);
  try {
    const id = await openRun(deps, wish);
    for (;;) {
      const [run] = await sql<State[]>`
        SELECT r.status, r.error_message AS error, r.databases,
          greatest(r.created_at, r.due_at, r.lease_until) < now() - ${LONELY_MS} * interval '1 ms'
            AND NOT EXISTS (SELECT FROM control.migration_run o WHERE o.status = 'running' AND o.lease_until > now())
            AS "isLonely"
        FROM control.migration_run r WHERE r.id = ${id}`;
      if (run === undefined) throw new Failure('engines_away', 'The migrations were deleted with their project');
      const { status, error, databases } = run;
      if (status === 'success') return { databases: databases ?? [], error: null };
      if (status === 'failure') return { databases: databases ?? [], error: error ?? 'The migrations failed' };
      if (status === 'canceled') return { databases: [], error: error ?? 'The migrations were canceled' };
      if (stopping.aborted) throw new Failure('engines_away', 'The API is stopping');
      if (run.isLonely && (await cancelRun(deps, id)))
        throw new Failure('engines_away', 'No migrator runs the migrations: start one (docs/database.md)');
      await wake.wait(POLL_MS);
    }
  } finally {
    wake.close();
    await unlisten().catch(() => {});
  }
}

/** @returns its id. */
async function openRun({ sql }: RunDeps, wish: MigrationWish): Promise<string> {
  const { deploymentId, artifact, branch, requestedBy } = wish;
  // The open run may end between the two queries.
  for (let look = 1; look <= OPEN_LOOKS; look++) {
    const [made] = await sql<{ id: string }[]>`
      WITH made AS (
        INSERT INTO control.migration_run (id, deployment_id, project_id, artifact, branch, requested_by)
        SELECT ${newId('migrationRun')}, d.id, d.project_id, ${artifact}, ${branch}, ${requestedBy}
        FROM control.deployment d WHERE d.id = ${deploymentId}
        ON CONFLICT DO NOTHING RETURNING id)
      SELECT id, pg_notify('control_migration', id) FROM made`;
    if (made !== undefined) return made.id;
    const [open] = await sql<{ id: string }[]>`
      SELECT id FROM control.migration_run
      WHERE deployment_id = ${deploymentId} AND branch IS NOT DISTINCT FROM ${branch}
        AND status IN ('queued', 'running')`;
    if (open !== undefined) return open.id;
  }
  throw new Failure(
    'engines_away',
    `The migrator cannot run migrations for ${deploymentId}: the deployment was deleted`,
  );
}

/** @returns false if a migrator has claimed the run in the meantime. */
async function cancelRun({ sql }: RunDeps, id: string): Promise<boolean> {
  const rows = await sql`
    UPDATE control.migration_run SET status = 'canceled', error_message = 'No migrator ran the migrations', lease = NULL,
      lease_until = NULL, finished_at = now()
    WHERE id = ${id} AND status IN ('queued', 'running') AND (lease_until IS NULL OR lease_until <= now())
    RETURNING id`;
  return rows.length > 0;
}

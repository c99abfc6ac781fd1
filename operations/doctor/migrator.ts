// Checks whether deployments wait for a migrator that is not running. Called by services.ts, with the database open.
import { migrationsExecutorFrom } from '#core/migrations-executor.ts';
import type { Sql } from '#postgres/sql.ts';
import type { Environment } from '../locations.ts';
import { fail, ok, type Finding } from './finding.ts';

const ADVICE =
  'Check its log, and whether it runs: the part migrator of a supervisor, or `--profile migrator` of compose.split.yaml.';

/** No findings when releases do not use the migrator. */
export async function checkMigrator(sql: Sql, environment: Environment): Promise<Finding[]> {
  let isMigrator: boolean;
  try {
    isMigrator = migrationsExecutorFrom(environment) === 'migrator';
  } catch (error) {
    return [fail('migrator', (error as Error).message, 'Set DB_MIGRATIONS_EXECUTOR to migrator, or unset it.')];
  }
  const [there] = await sql<{ there: boolean }[]>`SELECT to_regclass('control.migration_run') IS NOT NULL AS there`;
  if (!isMigrator || there?.there !== true) return [];
  const [found] = await sql<{ waiting: number; running: number; late: number }[]>`
    SELECT count(*) FILTER (WHERE status = 'queued') AS waiting,
      count(*) FILTER (WHERE status = 'running' AND lease_until > now()) AS running,
      count(*) FILTER (WHERE status IN ('queued', 'running')
        AND greatest(created_at, due_at, lease_until) < now() - interval '30 seconds') AS late
    FROM control.migration_run`;
  const { waiting, running, late } = found!;
  return [
    late > 0 && running === 0
      ? fail('migrator', `${late} deployments wait for a migrator, and no migrator is running`, ADVICE)
      : ok('migrator', `It applies migrations: of ${running} deployments now, ${waiting} wait`),
  ];
}

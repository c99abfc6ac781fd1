// Applies the migrations of a deployment to production's or its branch's databases, before any URL points to it.
// Migrations are recorded with the deployment, so that a rollback can list them. Called by release.ts and promote.ts.
import { Failure, isFailure } from '#core/failure.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { addLogLines } from './deployment-log.ts';
import { migrate, snapshot } from './engines.ts';
import { runByMigrator, type EndedRun } from './migration-runs.ts';

/** Files applied to one database, in order. */
export interface RanMigrations {
  readonly resource: string;
  readonly files: readonly string[];
}

/** The fields of a deployment that migrations need. */
interface MigratedDeployment {
  readonly id: string;
  /** Name of the project. */
  readonly name: string;
  readonly artifact: string;
  /** Account that requested the release or promotion; null means a push, or the platform. */
  readonly requestedBy: string | null;
}

/**
 * Applies an artifact's pending migrations to the databases of production (`branch` null) or of a branch, and records
 * them.
 *
 * @throws {Failure} `migrations_failed`
 */
export async function applyMigrations(
  deps: Dependencies,
  { id, name, artifact, requestedBy }: MigratedDeployment,
  branch: string | null,
): Promise<readonly RanMigrations[]> {
  const { sql } = deps;
  const on = branch === null ? 'production' : 'preview';
  let plan;
  let ended: EndedRun;
  try {
    plan = await migrate(deps, name, artifact, branch, true);
    const pending = plan.flatMap(({ resource, pending: files }) => (files.length > 0 ? [{ resource, files }] : []));
    // The migrations are recorded before they run, because after a crash the next process would find no pending
    // migrations.
    if (pending.length > 0) await noteMigrations(deps, id, on, pending);
    if (pending.length > 0 && branch === null) {
      const resources = pending.map(({ resource }) => resource);
      if (plan.some(({ present }) => present.length > 0)) await snapshot(deps, name, id, resources);
    }
    ended =
      deps.migrationsExecutor === 'migrator'
        ? await runByMigrator(deps, { deploymentId: id, artifact, branch, requestedBy })
        : { databases: await migrate(deps, name, artifact, branch, false), error: null };
  } catch (error) {
    if (!isFailure(error, 'engine_refused')) throw error;
    throw new Failure('migrations_failed', error.message);
  }
  const { databases: done } = ended;
  for (const { resource, copied, applied, error } of done) {
    const lines: (readonly ['info' | 'error', string])[] = [];
    if (copied) lines.push(['info', `${resource}: copied from production`]);
    for (const file of applied) lines.push(['info', `${resource}: applied ${file}`]);
    if (error !== null) lines.push(['error', `${resource}: ${error.message}`]);
    await addLogLines(sql, id, 'migrate', lines);
  }
  const failed = done.find(({ error }) => error !== null);
  if (failed === undefined && ended.error === null)
    return done.flatMap(({ resource, applied: files }) => (files.length > 0 ? [{ resource, files }] : []));
  await sql`UPDATE control.deployment SET migrations = '[]' WHERE id = ${id}`;
  const applied = done.filter(({ applied: files }) => files.length > 0);
  if (applied.length > 0)
    await noteMigrations(
      deps,
      id,
      on,
      applied.map(({ resource, applied: files }) => ({ resource, files })),
    );
  if (failed === undefined) throw new Failure('migrations_failed', ended.error!);
  const { file, line, message } = failed.error!;
  const where = file === undefined ? failed.resource : `${file}${line === undefined ? '' : `:${line}`}`;
  // Errors of a statement name the file and its line themselves.
  throw new Failure('migrations_failed', message.includes(file ?? where) ? message : `${where}: ${message}`);
}

async function noteMigrations(
  { sql }: Pick<Dependencies, 'sql'>,
  deploymentId: string,
  on: 'production' | 'preview',
  ran: readonly { readonly resource: string; readonly files: readonly string[] }[],
): Promise<void> {
  const at = new Date().toISOString();
  const entries = ran.map(({ resource, files }) => ({ resource, files: [...files], on, at }));
  await sql`UPDATE control.deployment SET migrations = migrations || ${sql.json(entries)} WHERE id = ${deploymentId}`;
}

// Releases one deployment step by step: check it, add it to the route record without a pointer, start it on all
// engines, migrate databases, move the pointer, wait for all engines. Every step may be repeated: a process that takes
// over the job starts from the top. Called by release-jobs.ts with the project's lock.
import { openArtifact } from '#artifacts/artifact-source.ts';
import { storeProblem } from '#artifacts/store/stored.ts';
import type { PlatformError } from '#core/errors.ts';
import { Failure, isFailure } from '#core/failure.ts';
import type { Manifest } from '#core/manifest.ts';
import type { Transaction } from '#postgres/sql.ts';
import { readReadiness } from '../records/ai-readiness.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { issueAiToken, revokeAiTokens } from './ai-tokens.ts';
import { addLogLines } from './deployment-log.ts';
import { applyMigrations } from './apply-migrations.ts';
import { checkServices } from './check-services.ts';
import { classesObjection, recordClasses } from './object-classes.ts';
import { hasDatabases, warm } from './engines.ts';
import { previewVariables, readVariables, sealFrozen, unsealFrozen } from './frozen-variables.ts';
import { systemAudit, tell } from './audit-entries.ts';
import { releaseSettingsOf, startGuarded } from './guarded/changes.ts';
import { pointBranch, pointProduction, type ProductionPointer } from './pointers.ts';
import { touchRoute, untilRouted, writeRoute } from './project-routes.ts';
import { finishBranchRemoval } from './branch-removal.ts';
import type { ProjectSettings } from './route-projection.ts';

/** A claimed job. */
export interface ReleaseJob {
  readonly id: number;
  readonly deploymentId: string;
  readonly projectId: string;
  /** Starts at 1. */
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly lease: string;
}

interface Row {
  readonly id: string;
  readonly project_id: string;
  readonly organization_id: string;
  readonly status: string;
  readonly target: 'production' | 'preview';
  readonly branch: string;
  readonly artifact: string | null;
  readonly variables: Uint8Array | null;
  readonly is_fork: boolean;
  readonly created_by: string | null;
  readonly created_at: Date;
  readonly name: string;
  readonly deleted_at: Date | null;
  readonly production_branch: string | null;
  readonly is_pointed: boolean;
}

/**
 * Runs a release to its end. The results of the release and of its job are recorded in one transaction.
 *
 * @throws {Failure} `engines_away` or `not_routed`, to be retried; `lease_lost`, to be dropped.
 */
export async function release(deps: Dependencies, job: ReleaseJob): Promise<void> {
  const row = await readDeployment(deps, job);
  if (row === null) return endJob(deps, job);
  try {
    await steps(deps, job, row);
  } catch (error) {
    if (!isFailure(error, 'release_ended')) throw error;
    await end(deps, job, row, error);
  }
}

async function steps(deps: Dependencies, job: ReleaseJob, row: Row): Promise<void> {
  const { sql, folder } = deps;
  const say = (text: string, step: 'release' | 'migrate' = 'release'): Promise<void> =>
    addLogLines(sql, row.id, step, [['info', text]]);
  if (job.attempt > 1) await say(`The release restarts (attempt ${job.attempt})`);
  if (!row.is_pointed) {
    if (job.attempt > job.attemptsMax)
      throw new Failure('release_ended', `The release was interrupted ${job.attemptsMax} times`, {
        status: 'failure',
        reason: 'release_failed',
      });
    await checkWanted(deps, job, row);
    await storeArtifact(deps, row);
    const { manifest } = checkArtifact(folder, row);
    await checkServices(deps, row.organization_id, manifest);
    await checkClasses(deps, row, manifest);
    await finishBranchRemoval(deps, row.project_id, row.branch);
    await prepare(deps, job, row, manifest);
    await writeRoute(deps, row.project_id);
    await startWorker(deps, row);
    await say('The worker has started on all engines');
    if (manifest.ai) await sayAi(deps, row);
    await migrateDatabases(deps, job, row);
    await checkWanted(deps, job, row);
    await movePointer(deps, job, row, manifest);
  }
  await writeRoute(deps, row.project_id);
  if (!(await untilRouted(deps, row.project_id)))
    throw new Failure('not_routed', 'Not all engines have the new route yet');
  await say(await servedBy(deps, row));
  await succeed(deps, job, row);
}

/** The current deployment, as a log line. */
async function servedBy({ sql }: Dependencies, row: Row): Promise<string> {
  const [guarded] = await sql<{ percent: number }[]>`
    SELECT (settings->'steps'->>step)::integer AS percent FROM control.guarded_release
    WHERE deployment_id = ${row.id} AND state = 'running'`;
  if (guarded !== undefined) return `A guarded release began: ${guarded.percent} % of the visitors get this deployment`;
  return isProduction(row)
    ? 'Production now serves this deployment'
    : `The URL of ${row.branch} now serves this deployment`;
}

/** Whether the deployment uses production's resources. */
function isProduction({ target, branch, production_branch: production }: Row): boolean {
  return target === 'production' || branch === production;
}

async function readDeployment({ sql }: Dependencies, { deploymentId }: ReleaseJob): Promise<Row | null> {
  const [row] = await sql<Row[]>`
    SELECT d.id, d.project_id, d.organization_id, d.status, d.target, d.branch, d.artifact, d.variables, d.is_fork,
      d.created_by, d.created_at, p.name, p.deleted_at, now_live.branch AS production_branch,
      (b.deployment_id IS NOT DISTINCT FROM d.id
        AND (d.target = 'preview' OR p.production_deployment_id IS NOT DISTINCT FROM d.id)
        OR EXISTS (SELECT FROM control.guarded_release WHERE deployment_id = d.id)) AS is_pointed
    FROM control.deployment d JOIN control.project p ON p.id = d.project_id
    LEFT JOIN control.branch b ON b.project_id = d.project_id AND b.name = d.branch
    LEFT JOIN control.deployment now_live ON now_live.id = p.production_deployment_id
    WHERE d.id = ${deploymentId} AND d.status IN ('queued', 'uploading', 'migrating')`;
  return row ?? null;
}

/** Checks that the deployment still needs a release. */
async function checkWanted({ sql }: Dependencies, { id, lease }: ReleaseJob, row: Row): Promise<void> {
  if (row.deleted_at !== null)
    throw new Failure('release_ended', 'The project was deleted', { status: 'canceled', reason: 'project_deleted' });
  const [job] = await sql<{ cancel_reason: string | null; is_older: boolean }[]>`
    SELECT cancel_reason, EXISTS (
      SELECT FROM control.deployment d WHERE d.project_id = ${row.project_id} AND d.branch = ${row.branch}
        AND d.status = 'success' AND d.removed_at IS NULL AND (d.created_at, d.id) > (${row.created_at}, ${row.id})
    ) AS is_older
    FROM control.job WHERE id = ${id} AND lease = ${lease}`;
  if (job === undefined) throw new Failure('lease_lost', 'Another process has taken over the job');
  if (job.cancel_reason !== null)
    throw new Failure('release_ended', 'The deployment was canceled', {
      status: 'canceled',
      reason: job.cancel_reason,
    });
  if (job.is_older)
    throw new Failure('release_ended', `A newer deployment of ${row.branch} was released before it`, {
      status: 'canceled',
      reason: 'superseded',
    });
}

/** Copies the artifact to this machine, and ensures that the shared store has it. */
async function storeArtifact({ artifacts, log }: Dependencies, { artifact }: Row): Promise<void> {
  if (artifact === null) return;
  try {
    await artifacts.fetch(artifact);
    await artifacts.upload(artifact);
  } catch (error) {
    if (!isFailure(error, 'artifact_store') || error.reason === 'away') throw error;
    log.error({ artifact, reason: error.message }, 'The artifact of a release could not be stored');
    throw new Failure('release_ended', storeProblem('The artifact could not be stored', error), {
      status: 'failure',
      reason: error.reason === 'refused' ? 'artifact_not_stored' : 'artifact_invalid',
    });
  }
}

function checkArtifact(folder: string, { artifact }: Row): { readonly manifest: Manifest } {
  try {
    if (artifact === null) throw new Error('The build left no artifact');
    const opened = openArtifact(folder, artifact);
    opened.workerText();
    opened.migrations();
    return opened;
  } catch (error) {
    throw new Failure('release_ended', (error as PlatformError).message, {
      status: 'failure',
      reason: 'artifact_invalid',
    });
  }
}

/** A preview has its own objects, so its log only says that it cannot become production. */
async function checkClasses(deps: Dependencies, row: Row, manifest: Manifest): Promise<void> {
  const reason = await classesObjection(deps, row.project_id, manifest);
  if (reason === null) return;
  if (isProduction(row)) throw new Failure('release_ended', reason, { status: 'failure', reason: 'artifact_invalid' });
  await addLogLines(deps.sql, row.id, 'release', [['warn', `This deployment cannot become production. ${reason}`]]);
}

/** Freezes the variables of the deployment, and records the bindings of its branch. */
async function prepare(deps: Dependencies, job: ReleaseJob, row: Row, manifest: Manifest): Promise<void> {
  const { bindings, ai } = manifest;
  const { sql, keys } = deps;
  await sql.begin(async (tx) => {
    await checkLease(tx, job);
    if (row.variables === null) {
      const scoped = await readVariables(tx, keys, row.project_id);
      // Forks get no variables, since secrets must not reach their code.
      const preview = row.is_fork ? {} : previewVariables(scoped, row.branch);
      const frozen = {
        production: isProduction(row) ? scoped.production : null,
        preview,
        // A fork's code could use the token from anywhere.
        ...(ai && !row.is_fork && { aiToken: await issueAiToken(tx, row) }),
      };
      await tx`UPDATE control.deployment SET variables = ${sealFrozen(keys, row.id, frozen)} WHERE id = ${row.id}`;
    } else unsealFrozen(keys, row.id, row.variables);
    const resources = Object.fromEntries(
      Object.entries(bindings).map(([kind, declared]) => [
        kind,
        Object.fromEntries(Object.values(declared).map((resource) => [resource, resource])),
      ]),
    );
    const [branch] = await tx<{ resources: Record<string, Record<string, string>> }[]>`
      INSERT INTO control.branch (project_id, name) VALUES (${row.project_id}, ${row.branch})
      ON CONFLICT (project_id, name) DO UPDATE SET removed_at = NULL, removal = NULL RETURNING resources`;
    const merged: Record<string, Record<string, string>> = { ...branch!.resources };
    for (const [kind, own] of Object.entries(resources)) merged[kind] = { ...merged[kind], ...own };
    if (isProduction(row)) await recordClasses(deps, tx, { projectId: row.project_id, deploymentId: row.id }, manifest);
    await tx`
      UPDATE control.branch SET resources = ${tx.json(merged)}, updated_at = now()
      WHERE project_id = ${row.project_id} AND name = ${row.branch}`;
    await touchRoute(tx, row.project_id);
  });
}

async function startWorker(deps: Dependencies, row: Row): Promise<void> {
  const { isStarted, error, lines } = await warm(deps, row.name, row.id);
  // The reason of a failure is logged at the end of the release.
  const written = lines.flatMap(({ level, text }) =>
    text === error ? [] : [[level === 'error' || level === 'warn' ? level : 'info', text] as const],
  );
  await addLogLines(deps.sql, row.id, 'release', written);
  if (!isStarted)
    throw new Failure('release_ended', error ?? 'The worker does not start', {
      status: 'failure',
      reason: 'worker_start_failed',
    });
}

/** Logs missing AI providers: after a push, users would otherwise notice only when a call fails. */
async function sayAi(deps: Dependencies, row: Row): Promise<void> {
  const { state, advice } = await readReadiness(deps, row.organization_id);
  if (advice === null) return;
  await addLogLines(deps.sql, row.id, 'release', [[state === 'mock' ? 'info' : 'warn', `AI: ${advice}`]]);
}

async function migrateDatabases(deps: Dependencies, job: ReleaseJob, row: Row): Promise<void> {
  const { sql } = deps;
  const artifact = row.artifact!;
  if (!hasDatabases(deps, artifact)) return;
  await sql.begin(async (tx) => {
    await checkLease(tx, job);
    await tx`UPDATE control.deployment SET status = 'migrating', updated_at = now() WHERE id = ${row.id}`;
    await tell(tx, row.id);
  });
  try {
    const deployment = { id: row.id, name: row.name, artifact, requestedBy: row.created_by };
    await applyMigrations(deps, deployment, isProduction(row) ? null : row.branch);
  } catch (error) {
    if (isFailure(error, 'migrations_failed'))
      throw new Failure('release_ended', error.message, { status: 'failure', reason: 'migration_failed' });
    throw error;
  }
}

/** Now the deployment receives requests; in a guarded release, a share of production's requests. */
async function movePointer(deps: Dependencies, job: ReleaseJob, row: Row, manifest: Manifest): Promise<void> {
  const { id: deploymentId, project_id: projectId } = row;
  await deps.sql.begin(async (tx) => {
    const [project] = await tx<(ProductionPointer & { settings: ProjectSettings })[]>`
      SELECT production_deployment_id, production_history, settings FROM control.project
      WHERE id = ${projectId} FOR UPDATE`;
    if (project === undefined) throw new Failure('lease_lost', 'Another process has taken over the job');
    await checkLease(tx, job);
    const { production_deployment_id: previousId } = project;
    const settings = row.target === 'production' ? releaseSettingsOf(manifest, project.settings) : null;
    if (settings !== null && previousId !== null) {
      await startGuarded(tx, projectId, { deploymentId, previousId, settings });
      await systemAudit(tx, {
        organizationId: row.organization_id,
        projectId,
        action: 'release.start',
        subjectKind: 'deployment',
        subjectId: deploymentId,
        details: { previous: previousId, percent: settings.steps[0]! },
      });
    } else {
      if (row.target === 'production') await pointProduction(tx, projectId, project, deploymentId);
      await pointBranch(tx, projectId, row.branch, deploymentId);
    }
    await touchRoute(tx, projectId);
  });
}

async function succeed(deps: Dependencies, job: ReleaseJob, row: Row): Promise<void> {
  await deps.sql.begin(async (tx) => {
    await checkLease(tx, job);
    await tx`
      UPDATE control.deployment SET status = 'success', reason = NULL, error_message = NULL, ready_at = now(),
        updated_at = now()
      WHERE id = ${row.id}`;
    await finish(tx, job, row, 'deployment.succeed', {});
  });
}

async function end(deps: Dependencies, job: ReleaseJob, row: Row, reason: Failure<'release_ended'>): Promise<void> {
  await addLogLines(deps.sql, row.id, 'release', [[reason.status === 'failure' ? 'error' : 'info', reason.message]]);
  await deps.sql.begin(async (tx) => {
    await checkLease(tx, job);
    await tx`
      UPDATE control.deployment SET status = ${reason.status}, reason = ${reason.reason},
        error_message = ${reason.message.slice(0, 4000).replaceAll('\0', '').toWellFormed()}, updated_at = now()
      WHERE id = ${row.id}`;
    await revokeAiTokens(tx, row.id);
    await touchRoute(tx, row.project_id);
    await finish(tx, job, row, reason.status === 'failure' ? 'deployment.fail' : 'deployment.cancel', {
      reason: reason.reason,
    });
  });
}

/** Ends a release after too many attempts. */
export async function giveUp(deps: Dependencies, job: ReleaseJob, message: string): Promise<void> {
  const row = await readDeployment(deps, job);
  if (row === null) return endJob(deps, job);
  await end(deps, job, row, new Failure('release_ended', message, { status: 'failure', reason: 'release_failed' }));
}

async function finish(tx: Transaction, job: ReleaseJob, row: Row, action: string, details: object): Promise<void> {
  await tx`DELETE FROM control.job WHERE id = ${job.id}`;
  await systemAudit(tx, {
    organizationId: row.organization_id,
    projectId: row.project_id,
    action,
    subjectKind: 'deployment',
    subjectId: row.id,
    details: { ...details, branch: row.branch, target: row.target },
  });
  await tell(tx, row.id);
}

/** Ends the job of a deployment that has ended or was deleted. */
async function endJob({ sql }: Dependencies, { id, lease }: ReleaseJob): Promise<void> {
  await sql`DELETE FROM control.job WHERE id = ${id} AND lease = ${lease}`;
}

async function checkLease(tx: Transaction, { id, lease }: ReleaseJob): Promise<void> {
  const [held] = await tx`SELECT FROM control.job WHERE id = ${id} AND lease = ${lease} FOR UPDATE`;
  if (held === undefined) throw new Failure('lease_lost', 'Another process has taken over the job');
}

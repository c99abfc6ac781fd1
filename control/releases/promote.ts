// Changes production by hand: promote makes any successful deployment production, rollback returns to an earlier one,
// split sends another deployment a share of the requests. Databases are migrated first, then the pointer moves; the
// call returns once all engines have the change.
import { openArtifact } from '#artifacts/artifact-source.ts';
import { isFailure } from '#core/failure.ts';
import { previewOf } from '#core/preview.ts';
import type { Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { applyMigrations, type RanMigrations } from './apply-migrations.ts';
import { check, hasDatabases, migrate, restore, snapshots } from './engines.ts';
import { readVariables, sealFrozen, unsealFrozen, withAi } from './frozen-variables.ts';
import { riskyStatements } from './migration-risk.ts';
import type { Audit } from './audit-entries.ts';
import { pointBranch, pointProduction, rollBackProduction, type ProductionPointer } from './pointers.ts';
import { withProject } from './project-lock.ts';
import { readProjectRows } from './project-rows.ts';
import { touchRoute, untilRouted, writeRoute } from './project-routes.ts';
import { toRouteRecord, type ProjectRow } from './route-projection.ts';

const LOCK_WAIT_MS = 20_000;

/** Result of a promotion. */
interface Promoted {
  readonly productionDeploymentId: string | null;
  readonly previousDeploymentId: string | null;
  /** Migrations applied to production's databases. */
  readonly migrations: readonly RanMigrations[];
  readonly warnings: readonly string[];
  /** Whether all engines are known to serve it. */
  readonly routed: boolean;
}

/** Result of a rollback. */
interface RolledBack extends Promoted {
  /** Migrations applied since the deployment was replaced, whose schema its code will run against. */
  readonly migrationsSince: readonly (RanMigrations & { readonly deploymentId: string })[];
  /** Databases that were restored. */
  readonly restored: readonly string[];
}

interface Candidate {
  readonly id: string;
  readonly artifact: string;
  readonly branch: string;
  readonly target: 'production' | 'preview';
  readonly variables: Uint8Array | null;
}

/**
 * Makes a deployment production.
 *
 * @param confirm accepts that the current deployment may run against a schema it does not know
 * @throws {ApiError} `conflict`, `confirmation_needed`, `unprocessable` (a worker or a migration that fails)
 */
export function promote(
  deps: Dependencies,
  given: {
    readonly projectId: string;
    readonly deploymentId: string;
    readonly confirm: boolean;
    /** Account of the caller. */
    readonly requestedBy: string | null;
  },
  audit: Audit,
): Promise<Promoted> {
  return withProject(deps, given.projectId, LOCK_WAIT_MS, async () => {
    const project = await readProject(deps, given.projectId);
    const candidate = await readCandidate(deps, given.projectId, given.deploymentId);
    const previous = project.production_deployment_id;
    if (previous === candidate.id) {
      const routed = await untilRouted(deps, project.id);
      return { productionDeploymentId: previous, previousDeploymentId: previous, migrations: [], warnings: [], routed };
    }
    const ready = await readyForProduction(deps, project, candidate, given);
    await move(deps, project, audit, 'deployment.promote', candidate.id, async (tx, before) => {
      await pointProduction(tx, project.id, before, candidate.id);
      await pointBranch(tx, project.id, candidate.branch, candidate.id);
    });
    return {
      productionDeploymentId: candidate.id,
      previousDeploymentId: previous,
      ...ready,
      routed: await untilRouted(deps, project.id),
    };
  });
}

/**
 * Returns to the previous production deployment, or to a given one.
 *
 * @param restoreDatabase restores production's databases from the snapshot taken before the first migration since
 * then.
 *   Data written meanwhile is lost, so it requires `confirm`.
 * @throws {ApiError} `conflict`, `confirmation_needed`
 */
export function rollback(
  deps: Dependencies,
  given: {
    readonly projectId: string;
    readonly deploymentId: string | null;
    readonly restoreDatabase: boolean;
    readonly confirm: boolean;
  },
  audit: Audit,
): Promise<RolledBack> {
  return withProject(deps, given.projectId, LOCK_WAIT_MS, async () => {
    const project = await readProject(deps, given.projectId);
    const { production_deployment_id: previous } = project;
    const earlier = given.deploymentId ?? (await lastAvailable(deps, project));
    if (earlier === null || previous === null)
      throw new ApiError('conflict', { reason: 'There is no earlier production deployment to roll back to' });
    if (earlier === previous) throw new ApiError('conflict', { reason: `${earlier} is already in production` });
    const at = project.production_history.lastIndexOf(earlier);
    if (at < 0) throw new ApiError('conflict', { reason: `${earlier} was never in production: promote it instead` });
    const candidate = await readCandidate(deps, project.id, earlier);
    const left = project.production_history.slice(at + 1).concat(previous);
    const since = await migrationsSince(deps, project, left);
    const copy = given.restoreDatabase ? await copyOf(deps, project.name, since) : null;
    if (copy !== null && !given.confirm)
      throw new ApiError('confirmation_needed', {
        reason: `Restoring the databases deletes all changes since ${copy} was released`,
      });
    const history = project.production_history.slice(0, at);
    await move(deps, project, audit, 'deployment.rollback', candidate.id, (tx) =>
      rollBackProduction(tx, project.id, candidate, history, left),
    );
    const routed = await untilRouted(deps, project.id);
    const restored = copy === null ? [] : await asked(() => restore(deps, project.name, copy));
    const names = since.map(({ resource, files }) => `${resource}: ${files.join(', ')}`).join('; ');
    const isKept = since.length > 0 && restored.length === 0;
    return {
      productionDeploymentId: candidate.id,
      previousDeploymentId: previous,
      migrations: [],
      migrationsSince: since,
      restored,
      warnings: isKept ? [`The schema is newer than this deployment: these migrations ran since (${names})`] : [],
      routed,
    };
  });
}

/**
 * Sends a share of production's requests to a deployment: 0 ends the split, 100 promotes it.
 *
 * @throws {ApiError} as {@link promote}
 */
export function split(
  deps: Dependencies,
  given: {
    readonly projectId: string;
    readonly deploymentId: string;
    readonly percent: number;
    readonly confirm: boolean;
    readonly requestedBy: string | null;
  },
  audit: Audit,
): Promise<Promoted> {
  if (given.percent === 100) return promote(deps, given, audit);
  return withProject(deps, given.projectId, LOCK_WAIT_MS, async () => {
    const project = await readProject(deps, given.projectId);
    const { production_deployment_id: production } = project;
    const candidate = await readCandidate(deps, project.id, given.deploymentId);
    if (production === null || production === candidate.id)
      throw new ApiError('conflict', {
        reason: 'A traffic split needs a production deployment and a second deployment',
      });
    const isEnd = given.percent === 0;
    const ready = isEnd ? { migrations: [], warnings: [] } : await readyForProduction(deps, project, candidate, given);
    await move(deps, project, audit, 'deployment.split', candidate.id, async (tx) => {
      const next = isEnd ? null : { deploymentId: candidate.id, percent: given.percent };
      await tx`UPDATE control.project SET split = ${next === null ? null : tx.json(next)} WHERE id = ${project.id}`;
    });
    const routed = await untilRouted(deps, project.id);
    return { productionDeploymentId: production, previousDeploymentId: production, ...ready, routed };
  });
}

async function readProject({ sql }: Dependencies, projectId: string): Promise<ProjectRow> {
  const [rows] = await readProjectRows(sql, [projectId]);
  if (rows === undefined || rows.project.deleted_at !== null) throw new ApiError('not_found');
  return rows.project;
}

async function readCandidate({ sql, folder }: Dependencies, projectId: string, id: string): Promise<Candidate> {
  const [row] = await sql<(Candidate & { status: string; is_fork: boolean; removed_at: Date | null })[]>`
    SELECT id, artifact, branch, target, variables, status, is_fork, removed_at FROM control.deployment
    WHERE id = ${id} AND project_id = ${projectId}`;
  if (row === undefined) throw new ApiError('not_found');
  if (row.status !== 'success')
    throw new ApiError('conflict', { reason: `${id} cannot be promoted: its status is ${row.status}` });
  if (row.is_fork)
    throw new ApiError('conflict', { reason: `${id} is from a fork: merge its pull request, which builds production` });
  if (row.removed_at !== null) throw new ApiError('conflict', { reason: `${id} was deleted: deploy its commit again` });
  try {
    openArtifact(folder, row.artifact);
  } catch {
    throw new ApiError('conflict', { reason: `The artifact of ${id} was deleted: deploy its commit again` });
  }
  return row;
}

/** The most recent production deployment that can be restored. */
async function lastAvailable(
  { sql }: Dependencies,
  { production_history: history }: ProjectRow,
): Promise<string | null> {
  const rows = await sql<{ id: string }[]>`
    SELECT id FROM control.deployment
    WHERE id = ANY(${[...history]}) AND removed_at IS NULL AND status = 'success' AND artifact IS NOT NULL`;
  const available = new Set(rows.map(({ id }) => id));
  return history.findLast((id) => available.has(id)) ?? null;
}

/** Freezes variables, checks that the worker starts with them, migrates production's databases. */
async function readyForProduction(
  deps: Dependencies,
  project: ProjectRow,
  candidate: Candidate,
  { confirm, requestedBy }: { readonly confirm: boolean; readonly requestedBy: string | null },
): Promise<Pick<Promoted, 'migrations' | 'warnings'>> {
  const { sql, keys } = deps;
  const frozen = unsealFrozen(keys, candidate.id, candidate.variables);
  const vars = frozen.production ?? (await sql.begin((tx) => readVariables(tx, keys, project.id))).production;
  const isPreview = await isPreviewNow(deps, project.id, candidate.id);
  const warnings: string[] = [];
  if (isPreview || frozen.production === null) {
    const started = await asked(() =>
      check(deps, {
        project: project.name,
        artifact: candidate.artifact,
        plan: project.plan,
        vars: withAi(vars, frozen, deps.addresses.api),
      }),
    );
    if (!started.isStarted)
      throw new ApiError('unprocessable', {
        reason: `The worker does not start with the production variables: ${started.error ?? 'unknown reason'}`,
      });
  }
  if (hasDatabases(deps, candidate.artifact))
    warnings.push(...(await schemaWarnings(deps, project, candidate, confirm)));
  try {
    const migrations = hasDatabases(deps, candidate.artifact)
      ? await asked(() =>
          applyMigrations(
            deps,
            { id: candidate.id, name: project.name, artifact: candidate.artifact, requestedBy },
            null,
          ),
        )
      : [];
    if (frozen.production === null)
      await sql`
        UPDATE control.deployment SET variables = ${sealFrozen(keys, candidate.id, { ...frozen, production: vars })}
        WHERE id = ${candidate.id}`;
    return { migrations, warnings };
  } catch (error) {
    if (isFailure(error, 'migrations_failed')) throw new ApiError('unprocessable', { reason: error.message });
    throw error;
  }
}

async function isPreviewNow({ sql, keys, addresses }: Dependencies, projectId: string, id: string): Promise<boolean> {
  const [rows] = await readProjectRows(sql, [projectId]);
  return rows !== undefined && previewOf(toRouteRecord(keys, rows, addresses.api), id) !== null;
}

/** Schema changes that may break the current deployment. @throws {ApiError} `confirmation_needed` if there are any. */
async function schemaWarnings(
  deps: Dependencies,
  project: ProjectRow,
  { id, artifact }: Candidate,
  confirm: boolean,
): Promise<string[]> {
  const plan = await asked(() => migrate(deps, project.name, artifact, null, true));
  const pending = plan.filter(({ pending: files }) => files.length > 0);
  if (pending.length === 0) return [];
  const names = pending.map(({ resource, pending: files }) => `${resource}: ${files.join(', ')}`).join('; ');
  const risky = riskyIn(
    deps,
    artifact,
    pending.map(({ resource, pending: files }) => ({ resource, files })),
  );
  const old = project.production_deployment_id;
  if (risky.length > 0 && old !== null && !confirm)
    throw new ApiError('confirmation_needed', {
      reason:
        `${id} has migrations that may break ${old}, which is live (${risky.slice(0, 5).join('; ')}). ` +
        `Migrations to apply to production: ${names}. To continue, send "confirm": true`,
    });
  return [`Migrations were applied to production, which ${old ?? 'nothing'} served until now (${names})`];
}

/** Statements of these migrations that may break the previous deployment, each prefixed with its file. */
export function riskyIn(
  { folder }: Pick<Dependencies, 'folder'>,
  artifact: string,
  pending: readonly { readonly resource: string; readonly files: readonly string[] }[],
): string[] {
  const texts = new Map(
    openArtifact(folder, artifact)
      .migrations()
      .map((one) => [one.resource, one.files]),
  );
  return pending.flatMap(({ resource, files }) =>
    (texts.get(resource) ?? [])
      .filter(([name]) => files.includes(name))
      .flatMap(([name, sql]) => riskyStatements(sql).map((statement) => `${name}: ${statement}`)),
  );
}

/** Why a deployment cannot become production; null: it can. */
export async function candidateObjection(deps: Dependencies, projectId: string, id: string): Promise<string | null> {
  try {
    await readCandidate(deps, projectId, id);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** Migrations that later deployments applied to production's databases. */
export async function migrationsSince(
  { sql }: Pick<Dependencies, 'sql'>,
  project: ProjectRow,
  later: readonly string[],
): Promise<RolledBack['migrationsSince']> {
  const rows = await sql<
    { id: string; migrations: readonly (RanMigrations & { on: string })[] }[]
  >`SELECT id, migrations FROM control.deployment
    WHERE project_id = ${project.id} AND id = ANY(${[...later]}) AND migrations <> '[]'`;
  return rows
    .toSorted((a, b) => later.indexOf(a.id) - later.indexOf(b.id))
    .flatMap(({ id, migrations }) =>
      migrations
        .filter(({ on }) => on === 'production')
        .map(({ resource, files }) => ({ deploymentId: id, resource, files })),
    );
}

/** The snapshot taken before the first of these migrations. @throws {ApiError} if there is none. */
async function copyOf(deps: Dependencies, project: string, since: RolledBack['migrationsSince']): Promise<string> {
  const [first] = since;
  if (first === undefined)
    throw new ApiError('conflict', { reason: 'No migration ran since then: there is nothing to restore' });
  if (!(await asked(() => snapshots(deps, project))).has(first.deploymentId))
    throw new ApiError('conflict', {
      reason: `No snapshot of the databases exists from before the release of ${first.deploymentId}`,
    });
  return first.deploymentId;
}

async function move(
  deps: Dependencies,
  project: ProjectRow,
  audit: Audit,
  action: string,
  deploymentId: string,
  change: (tx: Transaction, before: ProductionPointer) => Promise<void>,
): Promise<void> {
  await deps.sql.begin(async (tx) => {
    const [before] = await tx<ProductionPointer[]>`
      SELECT production_deployment_id, production_history FROM control.project WHERE id = ${project.id} FOR UPDATE`;
    await change(tx, before!);
    await touchRoute(tx, project.id);
    await audit(tx, {
      organizationId: project.organization_id,
      projectId: project.id,
      action,
      subjectKind: 'deployment',
      subjectId: deploymentId,
      details: { previous: before!.production_deployment_id },
    });
  });
  await writeRoute(deps, project.id);
}

/** Maps errors of engines to API errors. */
async function asked<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isFailure(error, 'engines_away')) throw new ApiError('unavailable', { reason: error.message });
    if (isFailure(error, 'engine_refused')) throw new ApiError('unprocessable', { reason: error.message });
    throw error;
  }
}

// Manual changes of production: promote makes any successful deployment production, rollback returns to an earlier one,
// and split sends a share of the requests to another deployment. Databases are migrated first, then the pointer moves;
// the call returns once all engines have the change.
import { openArtifact } from '#artifacts/artifact-source.ts';
import type { Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { RanMigrations } from './apply-migrations.ts';
import type { Audit } from './audit-entries.ts';
import { asked, readCandidate, readyForProduction } from './candidate.ts';
import { restore, snapshots } from './engines.ts';
import { endGuarded, releaseSettingsOf, runningGuarded, setSplit, startGuarded } from './guarded/changes.ts';
import { pointBranch, pointProduction, rollBackProduction, type ProductionPointer } from './pointers.ts';
import { withProject } from './project-lock.ts';
import { readProjectRows } from './project-rows.ts';
import { touchRoute, untilRouted, writeRoute } from './project-routes.ts';
import type { ProjectRow } from './route-projection.ts';

const LOCK_WAIT_MS = 20_000;

/** Result of a promotion. */
interface Promoted {
  readonly productionDeploymentId: string | null;
  readonly previousDeploymentId: string | null;
  /** Migrations applied to production's databases. */
  readonly migrations: readonly RanMigrations[];
  readonly warnings: readonly string[];
  /** Whether all engines are known to serve the deployment. */
  readonly routed: boolean;
  /** Whether a guarded release of the deployment runs: production moves when it succeeds. */
  readonly guarded: boolean;
}

/** Result of a rollback. */
interface RolledBack extends Promoted {
  /** Migrations applied since the deployment was replaced, whose schema its code will run against. */
  readonly migrationsSince: readonly (RanMigrations & { readonly deploymentId: string })[];
  /** Databases that were restored. */
  readonly restored: readonly string[];
}

/**
 * Makes a deployment production, or starts its guarded release if the project has one configured.
 *
 * @param now whether to skip the guarded release @param confirm accepts that the current deployment may run with a
 * schema that it does not know
 * @throws {ApiError} `conflict`, `confirmation_needed`, `unprocessable` (a worker or a migration that fails)
 */
export function promote(
  deps: Dependencies,
  given: {
    readonly projectId: string;
    readonly deploymentId: string;
    readonly now: boolean;
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
    const isGuarded = !given.now && (await runningGuarded(deps.sql, project.id)) === candidate.id;
    const unchanged = {
      productionDeploymentId: previous,
      previousDeploymentId: previous,
      migrations: [],
      warnings: [],
    };
    if (previous === candidate.id || isGuarded)
      return { ...unchanged, routed: await untilRouted(deps, project.id), guarded: isGuarded };
    const ready = await readyForProduction(deps, project, candidate, given);
    const { manifest } = openArtifact(deps.folder, candidate.artifact);
    const settings = given.now ? null : releaseSettingsOf(manifest, project.settings);
    if (settings !== null && previous !== null) {
      await move(deps, project, audit, 'release.start', candidate.id, (tx) =>
        startGuarded(tx, project.id, { deploymentId: candidate.id, previousId: previous, settings }),
      );
      return { ...unchanged, ...ready, routed: await untilRouted(deps, project.id), guarded: true };
    }
    await move(deps, project, audit, 'deployment.promote', candidate.id, async (tx, before) => {
      await pointProduction(tx, project.id, before, candidate.id);
      await pointBranch(tx, project.id, candidate.branch, candidate.id);
    });
    return {
      productionDeploymentId: candidate.id,
      previousDeploymentId: previous,
      ...ready,
      routed: await untilRouted(deps, project.id),
      guarded: false,
    };
  });
}

/**
 * Returns to the previous production deployment, or to a given one. If a guarded release is running, the previous
 * deployment is the one that is still production: the release ends.
 *
 * @param restoreDatabase restores production's databases from the snapshot that was taken before the first migration
 * after the target deployment. Data that was written after that snapshot is lost, so this requires `confirm`.
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
    const { production_deployment_id: live } = project;
    const isOfLive = given.deploymentId === null || given.deploymentId === live;
    const guarded = isOfLive ? await runningGuarded(deps.sql, project.id) : null;
    const previous = guarded ?? live;
    const earlier = guarded === null ? (given.deploymentId ?? (await lastAvailable(deps, project))) : live;
    if (earlier === null || previous === null)
      throw new ApiError('conflict', { reason: 'There is no earlier production deployment to roll back to' });
    if (earlier === previous) throw new ApiError('conflict', { reason: `${earlier} is already in production` });
    const at = guarded === null ? project.production_history.lastIndexOf(earlier) : project.production_history.length;
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
      guarded: false,
    };
  });
}

/**
 * Sends a share of production's requests to a deployment: 0 ends the split, 100 promotes it. Ends a guarded release.
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
  if (given.percent === 100) return promote(deps, { ...given, now: true }, audit);
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
      await endGuarded(tx, project.id, 'canceled', 'The traffic split was changed by hand');
      await setSplit(tx, project.id, isEnd ? null : { deploymentId: candidate.id, percent: given.percent });
    });
    const routed = await untilRouted(deps, project.id);
    return { productionDeploymentId: production, previousDeploymentId: production, ...ready, routed, guarded: false };
  });
}

async function readProject({ sql }: Dependencies, projectId: string): Promise<ProjectRow> {
  const [rows] = await readProjectRows(sql, [projectId]);
  if (rows === undefined || rows.project.deleted_at !== null) throw new ApiError('not_found');
  return rows.project;
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

/** The snapshot taken before the first of these migrations. @throws {ApiError} if there is no such deployment. */
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

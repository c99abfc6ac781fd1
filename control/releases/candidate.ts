// Checks whether a deployment can become production, and prepares the promotion. Freezes the variables of the
// deployment, starts its worker with them, and migrates production's databases. Called by promote.ts.
import { openArtifact } from '#artifacts/artifact-source.ts';
import { isFailure } from '#core/failure.ts';
import { previewOf } from '#core/preview.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { applyMigrations, type RanMigrations } from './apply-migrations.ts';
import { check, hasDatabases, migrate } from './engines.ts';
import { readVariables, sealFrozen, unsealFrozen, withAi } from './frozen-variables.ts';
import { riskyStatements } from './migration-risk.ts';
import { classesObjection, recordClasses } from './object-classes.ts';
import { readProjectRows } from './project-rows.ts';
import { fetchArtifact } from './stored-artifacts.ts';
import { toRouteRecord, type ProjectRow } from './route-projection.ts';

/** A deployment that may become production. */
interface Candidate {
  readonly id: string;
  readonly artifact: string;
  readonly branch: string;
  readonly target: 'production' | 'preview';
  readonly variables: Uint8Array | null;
}

/** Result of the preparation. */
interface Readied {
  /** Migrations applied to production's databases. */
  readonly migrations: readonly RanMigrations[];
  readonly warnings: readonly string[];
}

/**
 * Reads a deployment that may become production. @throws {ApiError} `not_found`; `conflict` if the deployment may not
 * become production.
 */
export async function readCandidate(deps: Dependencies, projectId: string, id: string): Promise<Candidate> {
  const { sql, folder } = deps;
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
    if (!(await fetchArtifact(deps, row.artifact))) throw new Error('gone');
    openArtifact(folder, row.artifact);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError('conflict', { reason: `The artifact of ${id} was deleted: deploy its commit again` });
  }
  return row;
}

/** Why a deployment cannot become production; null if it can. */
export async function candidateObjection(deps: Dependencies, projectId: string, id: string): Promise<string | null> {
  try {
    await readCandidate(deps, projectId, id);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}

/** Freezes variables, checks that the worker starts with them, migrates production's databases. */
export async function readyForProduction(
  deps: Dependencies,
  project: ProjectRow,
  candidate: Candidate,
  { confirm, requestedBy }: { readonly confirm: boolean; readonly requestedBy: string | null },
): Promise<Readied> {
  const { sql, keys } = deps;
  const frozen = unsealFrozen(keys, candidate.id, candidate.variables);
  const vars = frozen.production ?? (await sql.begin((tx) => readVariables(tx, keys, project.id))).production;
  const isPreview = await isPreviewNow(deps, project.id, candidate.id);
  const warnings: string[] = [];
  const { manifest } = openArtifact(deps.folder, candidate.artifact);
  const reason = await asked(() => classesObjection(deps, project.id, manifest));
  if (reason !== null) throw new ApiError('unprocessable', { reason });
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
    await sql.begin(async (tx) => {
      await recordClasses(deps, tx, { projectId: project.id, deploymentId: candidate.id }, manifest);
      if (frozen.production === null)
        await tx`
          UPDATE control.deployment SET variables = ${sealFrozen(keys, candidate.id, { ...frozen, production: vars })}
          WHERE id = ${candidate.id}`;
    });
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

/**
 * Schema changes that may break the current deployment. @throws {ApiError} `confirmation_needed` if there are such
 * changes.
 */
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

/** Maps errors of engines to API errors. */
export async function asked<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isFailure(error, 'engines_away')) throw new ApiError('unavailable', { reason: error.message });
    if (isFailure(error, 'engine_refused')) throw new ApiError('unprocessable', { reason: error.message });
    throw error;
  }
}

// Rules for the classes of durable objects across deployments. A deployment that lacks a class of which production has
// objects is refused before anything changes. If such a deployment names a class as deleted, the objects of this class
// are deleted when the deployment becomes production. Called by release.ts and promote.ts.
import { openArtifact } from '#artifacts/artifact-source.ts';
import { ownClasses } from '#core/bindings/object.ts';
import {
  classesAdvice,
  deletedClasses,
  forgottenClasses,
  keptClasses,
  nameNowOf,
  type DeclaredClasses,
  type ObjectClasses,
} from '#core/bindings/object-classes.ts';
import {
  hiddenObjects,
  newlyReceived,
  otherClass,
  transferObjection,
  transferProjects,
} from '#core/bindings/object-transfers.ts';
import { isFailure } from '#core/failure.ts';
import { runRounds } from '#core/process/rounds.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { systemAudit } from './audit-entries.ts';
import { addLogLines } from './deployment-log.ts';
import { clearObjects, heldObject } from './engines.ts';
import { withProject } from './project-lock.ts';
import { untilRouted } from './project-routes.ts';

const POLL_MS = 10_000;
const LOCK_WAIT_MS = 20_000;

type ReadDeps = Pick<Dependencies, 'folder' | 'artifacts'>;

/**
 * Why a deployment cannot use production's objects; null if it can, or if production's deployment is broken, so that
 * its objects cannot be read.
 *
 * @throws {Failure} `engines_away`
 */
export async function classesObjection(
  deps: ReadDeps & Pick<Dependencies, 'sql' | 'privatePort' | 'log'>,
  projectId: string,
  next: DeclaredClasses,
): Promise<string | null> {
  const production = await readProduction(deps, deps.sql, projectId);
  const transfer = await transferProblem(deps, projectId, production, next);
  if (transfer !== null || production === null) return transfer;
  const { now } = production;
  try {
    for (const first of newlyReceived({ objectClasses: now }, next))
      if ((await heldObject(deps, production, first)) !== null) return hiddenObjects(first);
    for (const first of forgottenClasses(production.known, next)) {
      const object = await heldObject(deps, production, first);
      if (object !== null) return objection({ first, now: nameNowOf(now, first), object }, next);
    }
  } catch (error) {
    // A broken production deployment must not block the deployment that repairs it.
    if (!isFailure(error, 'engine_refused')) throw error;
    deps.log.warn({ err: error, project: production.project }, 'Durable objects of production could not be checked');
  }
  return null;
}

function objection(
  { first, now, object }: { readonly first: string; readonly now: string; readonly object: string },
  { objects }: DeclaredClasses,
): string {
  const named = now === first ? now : `${now} (first named ${first})`;
  const shown = JSON.stringify(object.slice(0, 80));
  const has = `Production has durable objects of the class ${named}, such as ${shown}`;
  if (Object.values(ownClasses(objects)).includes(first))
    return `${has}, but platform.yaml gives this name to objects of another class. Give the class of "object_classes.renamed" another name.`;
  return `${has}, but this deployment has no such class. ${classesAdvice(first)}`;
}

/** Conflicts between projects that transfer classes to each other. */
async function transferProblem(
  deps: ReadDeps & Pick<Dependencies, 'sql'>,
  projectId: string,
  production: Production | null,
  next: DeclaredClasses,
): Promise<string | null> {
  const now = production === null ? null : { objectClasses: production.now };
  const names = transferProjects(next, now ?? {});
  if (names.length === 0) return null;
  const rows = await deps.sql<{ name: string; artifact: string | null; isOwn: boolean }[]>`
    SELECT other.name, d.artifact, other.id = p.id AS "isOwn"
    FROM control.project p JOIN control.project other ON other.organization_id = p.organization_id
    LEFT JOIN control.deployment d ON d.id = other.production_deployment_id
    WHERE p.id = ${projectId} AND other.deleted_at IS NULL AND (other.id = p.id OR other.name = ANY(${names}))`;
  const others = new Map<string, DeclaredClasses>();
  for (const { name, artifact, isOwn } of rows)
    if (artifact !== null && !isOwn) others.set(name, await classesOf(deps, artifact));
  const own = rows.find(({ isOwn }) => isOwn)?.name ?? '';
  return transferObjection(own, now, next, (name) => others.get(name) ?? null);
}

/**
 * Refuses to delete a project that stores the objects of another project.
 *
 * @throws {ApiError} that names that project.
 */
export async function refuseWhileTransferred(deps: ReadDeps, tx: Transaction, projectId: string): Promise<void> {
  const now = (await readProduction(deps, tx, projectId))?.now ?? {};
  const names = Object.values(now.transferred ?? {}).map((text) => otherClass(text).project);
  const [other] = await tx<{ name: string }[]>`
    SELECT other.name FROM control.project p JOIN control.project other ON other.organization_id = p.organization_id
    WHERE p.id = ${projectId} AND other.id <> p.id AND other.deleted_at IS NULL AND other.name = ANY(${names})
    ORDER BY other.name LIMIT 1`;
  if (other === undefined) return;
  const reason = `It stores durable objects that it transferred to ${other.name}: delete ${other.name} first, or keep both`;
  throw new ApiError('conflict', { reason });
}

interface Production {
  readonly project: string;
  readonly deployment: string;
  readonly now: ObjectClasses;
  /** Classes that may have objects, by their original names, which stay the same after a rename. */
  readonly known: readonly string[];
}

/** Null if there is no production deployment. */
async function readProduction(deps: ReadDeps, sql: Sql | Transaction, projectId: string): Promise<Production | null> {
  const [row] = await sql<{ project: string; deployment: string; artifact: string; known: string[] }[]>`
    SELECT p.name AS project, d.id AS deployment, d.artifact, ARRAY(
      SELECT c.name FROM control.object_class c JOIN control.project named ON named.id = c.project_id
      WHERE named.name = p.name AND named.organization_id = p.organization_id) AS known
    FROM control.project p JOIN control.deployment d ON d.id = p.production_deployment_id
    WHERE p.id = ${projectId} AND d.artifact IS NOT NULL`;
  if (row === undefined) return null;
  const { project, deployment, known, artifact } = row;
  const classes = await classesOf(deps, artifact);
  return {
    project,
    deployment,
    now: classes.objectClasses ?? {},
    known: [...new Set([...known, ...keptClasses(classes)])],
  };
}

/** Empty if the artifact was deleted. */
async function classesOf({ artifacts, folder }: ReadDeps, artifact: string): Promise<DeclaredClasses> {
  try {
    await artifacts.fetch(artifact);
    return openArtifact(folder, artifact).manifest;
  } catch {
    return {};
  }
}

/** Records the classes of a deployment that will become production, and of the current one. */
export async function recordClasses(
  deps: ReadDeps,
  tx: Transaction,
  { projectId, deploymentId }: { readonly projectId: string; readonly deploymentId: string },
  manifest: DeclaredClasses,
): Promise<void> {
  const [kept, deleted] = [[...keptClasses(manifest)], [...deletedClasses(manifest)]];
  const known = [...((await readProduction(deps, tx, projectId))?.known ?? [])];
  await tx`
    INSERT INTO control.object_class (project_id, name) SELECT ${projectId}, unnest(${known}::text[])
    ON CONFLICT DO NOTHING`;
  await tx`
    INSERT INTO control.object_class (project_id, name) SELECT ${projectId}, unnest(${kept}::text[])
    ON CONFLICT (project_id, name) DO UPDATE SET deletion = NULL`;
  await tx`
    INSERT INTO control.object_class (project_id, name, deletion)
    SELECT ${projectId}, unnest(${deleted}::text[]), ${deploymentId}
    ON CONFLICT (project_id, name) DO UPDATE SET deletion = EXCLUDED.deletion`;
}

/** Deletes the objects of deleted classes until the process ends. */
export function followDeletedClasses(deps: Dependencies): Promise<void> {
  const { sql, stopping, log } = deps;
  const listen = (wake: () => void): Promise<() => Promise<void>> => deps.onNotify('control_route', wake);
  return runRounds(deps, { failure: 'Deleted object classes could not be read', pollMs: POLL_MS, listen }, async () => {
    const due = await sql<{ id: string; name: string }[]>`
      SELECT DISTINCT p.id, p.name FROM control.object_class c JOIN control.project p
        ON p.id = c.project_id AND p.production_deployment_id = c.deletion
      WHERE p.deleted_at IS NULL LIMIT 100`;
    for (const { id, name } of due) {
      if (stopping.aborted) return;
      await withProject(deps, id, LOCK_WAIT_MS, () => clearClasses(deps, id)).catch((error: unknown) => {
        if (!stopping.aborted)
          log.warn({ err: error, project: name }, 'Objects of a deleted class could not be deleted yet');
      });
    }
  });
}

async function clearClasses(deps: Dependencies, projectId: string): Promise<void> {
  const { sql } = deps;
  const due = await sql<{ class: string; project: string; deployment: string; organization_id: string }[]>`
    SELECT c.name AS class, p.name AS project, c.deletion AS deployment, p.organization_id
    FROM control.object_class c JOIN control.project p
      ON p.id = c.project_id AND p.production_deployment_id = c.deletion
    WHERE p.id = ${projectId} AND p.deleted_at IS NULL`;
  if (due.length === 0) return;
  // Until then, code of the previous deployment could write to the objects again.
  if (!(await untilRouted(deps, projectId))) throw new Error('Not all engines have the new route yet');
  for (const { class: name, project, deployment, organization_id: organizationId } of due) {
    const removed = await clearObjects(deps, { project, deployment }, name);
    await sql.begin(async (tx) => {
      await tx`
        DELETE FROM control.object_class
        WHERE project_id = ${projectId} AND name = ${name} AND deletion = ${deployment}`;
      if (removed === 0) return;
      const objects = removed === 1 ? '1 durable object' : `${removed} durable objects`;
      await addLogLines(tx, deployment, 'release', [['info', `Deleted ${objects} of the class ${name}`]]);
      await systemAudit(tx, {
        organizationId,
        projectId,
        action: 'object.class.delete',
        subjectKind: 'deployment',
        subjectId: deployment,
        details: { class: name, objects: removed },
      });
    });
  }
}

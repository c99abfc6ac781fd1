// Releases an existing artifact again with the current variables: by hand, or automatically after a change of
// variables if the project's setting `redeployOnVariables` is on. Nothing is built.
import { openArtifact } from '#artifacts/artifact-source.ts';
import type { Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newDeploymentId } from '../records/ids.ts';
import { systemAudit, tell, type Audit } from './audit-entries.ts';
import { runningGuarded } from './guarded/changes.ts';
import type { ProjectSettings } from './route-projection.ts';
import { fetchArtifact } from './stored-artifacts.ts';
import { addRelease } from './uploads.ts';

/** Scope of changed variables: production, all previews, or the previews of one branch. */
export interface ChangedVariables {
  readonly scope: 'production' | 'preview' | 'branch' | 'dev';
  /** For scope `branch`; '' otherwise. */
  readonly branch: string;
}

/**
 * Creates a deployment of the same artifact, to be released immediately.
 *
 * @returns its id.
 * @throws {ApiError} `not_found`; `conflict` if the artifact was deleted.
 */
export async function redeploy(
  deps: Pick<Dependencies, 'sql' | 'folder' | 'artifacts' | 'log'>,
  deploymentId: string,
  createdBy: string | null,
  audit: Audit = systemAudit,
): Promise<string> {
  const { sql, folder } = deps;
  const [given] = await sql<{ artifact: string | null }[]>`
    SELECT artifact FROM control.deployment WHERE id = ${deploymentId}`;
  if (given?.artifact != null) await fetchArtifact(deps, given.artifact);
  return sql.begin(async (tx) => {
    const [from] = await tx<{ artifact: string | null; removed_at: Date | null }[]>`
      SELECT artifact, removed_at FROM control.deployment WHERE id = ${deploymentId}`;
    if (from === undefined) throw new ApiError('not_found');
    try {
      if (from.artifact === null || from.removed_at !== null) throw new Error('gone');
      openArtifact(folder, from.artifact);
    } catch {
      throw new ApiError('conflict', { reason: `The artifact of ${deploymentId} was deleted: build it again` });
    }
    return insert(tx, deploymentId, createdBy, audit);
  });
}

/**
 * Redeploys the live deployments that use the changed variables, if the project's settings say so. Call this function
 * in the transaction of the change.
 *
 * @returns the ids of the new deployments; if there are none, the change needs a manual redeploy.
 */
export async function redeployOnVariables(
  tx: Transaction,
  projectId: string,
  changed: readonly ChangedVariables[],
  createdBy: string | null,
  audit: Audit = systemAudit,
): Promise<string[]> {
  const [project] = await tx<{ settings: ProjectSettings; production_deployment_id: string | null }[]>`
    SELECT settings, production_deployment_id FROM control.project WHERE id = ${projectId} AND deleted_at IS NULL`;
  if (project?.settings.redeployOnVariables !== true) return [];
  const live = new Set<string>();
  // If two deployments share the visitors of production, only the newer one is redeployed, because a redeployment of
  // the older one would replace it.
  const production = (await runningGuarded(tx, projectId)) ?? project.production_deployment_id;
  if (changed.some(({ scope }) => scope === 'production') && production !== null) live.add(production);
  const allPreviews = changed.some(({ scope }) => scope === 'preview');
  const branches = changed.filter(({ scope }) => scope === 'branch').map(({ branch }) => branch);
  if (allPreviews || branches.length > 0) {
    const previews = await tx<{ id: string }[]>`
      SELECT d.id FROM control.branch b JOIN control.deployment d ON d.id = b.deployment_id
      WHERE b.project_id = ${projectId} AND b.removed_at IS NULL AND d.target = 'preview' AND d.status = 'success'
        AND d.removed_at IS NULL AND d.id IS DISTINCT FROM ${project.production_deployment_id}
        AND (${allPreviews} OR b.name = ANY(${branches}))`;
    for (const { id } of previews) live.add(id);
  }
  const made: string[] = [];
  for (const id of live) made.push(await insert(tx, id, createdBy, audit));
  return made;
}

async function insert(tx: Transaction, from: string, createdBy: string | null, audit: Audit): Promise<string> {
  const id = newDeploymentId();
  const [made] = await tx<{ project_id: string; organization_id: string; branch: string; target: string }[]>`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, commit_sha,
      commit_message, author, pull_request, is_fork, approved_by, source, created_by, kind, artifact, created_at)
    SELECT ${id}, d.project_id, d.organization_id, 'uploading',
      -- The live deployment stays production, whatever its original target; so does one in a guarded release.
      CASE WHEN p.production_deployment_id = d.id OR EXISTS (
        SELECT FROM control.guarded_release WHERE deployment_id = d.id AND state = 'running')
        THEN 'production' ELSE d.target END,
      d.branch, d.commit_sha, d.commit_message, d.author, d.pull_request, d.is_fork, d.approved_by,
      -- A retry builds a redeployed commit again. What was uploaded may differ from its commit.
      CASE WHEN d.source = 'upload' THEN 'upload' ELSE 'redeploy' END,
      ${createdBy}, d.kind, d.artifact, clock_timestamp()
    FROM control.deployment d JOIN control.project p ON p.id = d.project_id WHERE d.id = ${from}
    RETURNING project_id, organization_id, branch, target`;
  await addRelease(tx, id);
  await audit(tx, {
    organizationId: made!.organization_id,
    projectId: made!.project_id,
    action: 'deployment.create',
    subjectKind: 'deployment',
    subjectId: id,
    details: { branch: made!.branch, source: 'redeploy', from },
  });
  await tell(tx, id);
  return id;
}

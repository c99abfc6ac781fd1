// Imports projects that were served before the control plane managed them: their deployments, branches, history and
// variables become rows when the first organization creates a project of that name. Called by project-routes.ts before
// it writes a record for the first time.
import { seal } from '#core/encryption.ts';
import { isFailure } from '#core/failure.ts';
import { variableContext } from '#core/variable-context.ts';
import type { RouteRecord } from '#core/manifest.ts';
import type { Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import type { ProjectRow } from './route-projection.ts';

/**
 * Imports a project's route record, if it contains more than the database.
 *
 * @returns whether the database was changed.
 * @throws {Error} if the record belongs to another project or cannot be read; it is not changed.
 */
export async function adoptRoute(
  { sql, keys, routes, artifacts }: Pick<Dependencies, 'sql' | 'keys' | 'routes' | 'artifacts'>,
  project: Pick<ProjectRow, 'id' | 'name' | 'organization_id' | 'is_first'>,
): Promise<boolean> {
  const record = await routes.unmanaged(project.name);
  if (record === null) return false;
  const ids = Object.keys(record.deployments);
  const known = await sql<{ id: string }[]>`
    SELECT id FROM control.deployment WHERE project_id = ${project.id} AND id = ANY(${ids})`;
  if (known.length === ids.length) return false;
  if (!project.is_first) throw new Error(`Another organization already serves a project named ${project.name}`);
  if (artifacts.isShared)
    for (const id of new Set(Object.values(record.deployments).map(({ artifact }) => artifact)))
      await artifacts.upload(id).catch((error: unknown) => {
        if (!isFailure(error, 'artifact_store') || error.reason !== 'missing') throw error;
      });
  await sql.begin(async (tx) => {
    for (const { id, artifact, branch, createdAt, target, supersededAt = null } of Object.values(record.deployments))
      await tx`
        INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact,
          created_at, ready_at, superseded_at)
        VALUES (${id}, ${project.id}, ${project.organization_id}, 'success', ${target ?? targetOf(record, branch)},
          ${branch}, 'upload', ${artifact}, ${createdAt}, ${createdAt}, ${supersededAt})
        ON CONFLICT (id) DO NOTHING`;
    for (const [branch, id] of Object.entries(record.branches))
      await tx`
        INSERT INTO control.branch (project_id, name, deployment_id) VALUES (${project.id}, ${branch}, ${id})
        ON CONFLICT (project_id, name) DO NOTHING`;
    const values: (readonly ['production' | 'preview' | 'branch', string, Readonly<Record<string, string>>])[] = [
      ['production', '', record.vars],
      ['preview', '', record.previewVars ?? {}],
      ...Object.entries(record.branchVars ?? {}).map(([branch, own]) => ['branch', branch, own] as const),
    ];
    for (const [scope, branch, variables] of values)
      for (const [key, value] of Object.entries(variables))
        await tx`
          INSERT INTO control.variable (id, project_id, key, scope, branch, kind, value)
          VALUES (${newId('variable')}, ${project.id}, ${key}, ${scope}, ${branch}, 'plaintext',
            ${seal(keys, value, variableContext({ projectId: project.id, scope, branch, key }))})
          ON CONFLICT (project_id, scope, branch, key) DO NOTHING`;
    const history = [...(record.productionHistory ?? [])];
    await tx`
      UPDATE control.project SET production_deployment_id = coalesce(production_deployment_id, ${record.production}),
        production_history = CASE WHEN production_history = '{}' THEN ${history} ELSE production_history END,
        default_branch = coalesce(${defaultBranchOf(record)}, default_branch)
      WHERE id = ${project.id}`;
  });
  return true;
}

/**
 * Whether a name without a project is reserved: it is served by a route record that is older than the control plane and
 * belongs to the operator.
 */
export async function isNameReserved(
  tx: Transaction,
  routes: Dependencies['routes'],
  organizationId: string,
  name: string,
): Promise<boolean> {
  const [row] = await tx<{ is_first: boolean }[]>`
    SELECT is_first FROM control.organization WHERE id = ${organizationId}`;
  return row?.is_first !== true && (await hasRecord(routes, name));
}

async function hasRecord(routes: Dependencies['routes'], name: string): Promise<boolean> {
  try {
    return (await routes.unmanaged(name)) !== null;
  } catch {
    // An unreadable record counts as existing.
    return true;
  }
}

/** Older records do not contain the target. */
function targetOf(record: RouteRecord, branch: string): 'production' | 'preview' {
  return defaultBranchOf(record) === branch ? 'production' : 'preview';
}

function defaultBranchOf({ production, deployments }: RouteRecord): string | null {
  return production === null ? null : (deployments[production]?.branch ?? null);
}

// Reads the rows that route records are built from, for many projects in one snapshot. Called by project-routes.ts.
import type { Sql } from '#postgres/sql.ts';
import type { VariableRow } from './frozen-variables.ts';
import type { DeploymentRow, ProjectRow, ProjectRows } from './route-projection.ts';

/** The rows of projects, ordered by id; missing projects are omitted. */
export async function readProjectRows(sql: Sql, ids: readonly string[]): Promise<ProjectRows[]> {
  const found = new Map<string, Writable>();
  const wanted = [...ids];
  await sql.begin('isolation level repeatable read read only', async (tx) => {
    const [projects, branches, deployments, variables, domains] = await Promise.all([
      tx<ProjectRow[]>`
        SELECT p.id, p.organization_id, o.is_first, p.name, o.plan, p.settings, p.production_deployment_id,
          p.production_history, p.split, p.route_version, p.routed_version, p.deleted_at
        FROM control.project p JOIN control.organization o ON o.id = p.organization_id
        WHERE p.id = ANY(${wanted}) ORDER BY p.id`,
      tx<(Writable['branches'][number] & { project_id: string })[]>`
        SELECT project_id, name, deployment_id FROM control.branch
        WHERE project_id = ANY(${wanted}) AND removed_at IS NULL`,
      // Deployments about to be released are included without a pointer: they are started before any URL points to
      // them.
      tx<(DeploymentRow & { project_id: string })[]>`
        SELECT project_id, id, artifact, branch, target, created_at, superseded_at, variables FROM control.deployment
        WHERE project_id = ANY(${wanted}) AND artifact IS NOT NULL AND removed_at IS NULL
          AND status IN ('uploading', 'migrating', 'success')
        ORDER BY created_at, id`,
      tx<VariableRow[]>`
        SELECT project_id, key, scope, branch, value FROM control.variable
        WHERE project_id = ANY(${wanted}) AND scope <> 'dev' ORDER BY branch, key`,
      tx<(ProjectRows['domains'][number] & { project_id: string })[]>`
        SELECT project_id, hostname, branch, redirect_to FROM control.domain
        WHERE project_id = ANY(${wanted}) AND verified_at IS NOT NULL ORDER BY hostname COLLATE "C"`,
    ]);
    for (const project of projects)
      found.set(project.id, { project, branches: [], deployments: [], variables: [], domains: [] });
    for (const { project_id: id, ...branch } of branches) found.get(id)?.branches.push(branch);
    for (const { project_id: id, ...deployment } of deployments) found.get(id)?.deployments.push(deployment);
    for (const variable of variables) found.get(variable.project_id)?.variables.push(variable);
    for (const { project_id: id, ...domain } of domains) found.get(id)?.domains.push(domain);
  });
  return [...found.values()];
}

type Writable = {
  -readonly [Key in keyof ProjectRows]: ProjectRows[Key] extends readonly (infer Row)[] ? Row[] : ProjectRows[Key];
};

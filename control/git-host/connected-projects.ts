// Finds the projects connected to a repository of a Git host, for deliveries about it.
import type { AboutRepository } from '#git/host/delivery.ts';
import type { Sql } from '#postgres/sql.ts';

/** The columns of a project that a push needs. */
export interface ConnectedProject {
  readonly id: string;
  readonly organizationId: string;
  readonly defaultBranch: string;
  /** Folder in the repository; '' is its root. */
  readonly configPath: string;
  readonly repositoryId: string;
}

interface Row {
  readonly id: string;
  readonly organization_id: string;
  readonly default_branch: string;
  readonly config_path: string;
  readonly repository_id: string;
}

const toProject = (row: Row): ConnectedProject => ({
  id: row.id,
  organizationId: row.organization_id,
  defaultBranch: row.default_branch,
  configPath: row.config_path,
  repositoryId: row.repository_id,
});

/**
 * Projects of a repository of a Git host, by the host's ids; several organizations may have connected it. After a
 * transfer, the repository belongs to another installation, so earlier connections do not match.
 */
export async function projectsOfHosted(
  sql: Sql,
  { gitHostId, repositoryId: hostId, installationId }: AboutRepository,
): Promise<ConnectedProject[]> {
  const ofHost =
    gitHostId === undefined
      ? sql`repository.git_host_id IS NULL AND repository.installation_id = ${installationId}`
      : sql`repository.git_host_id = ${gitHostId}`;
  const rows = await sql<Row[]>`
    SELECT project.id, project.organization_id, project.default_branch, project.config_path, project.repository_id
      FROM control.project JOIN control.repository ON repository.id = project.repository_id
     WHERE repository.source = 'git-host' AND repository.host_id = ${hostId} AND ${ofHost}
       AND repository.disconnected_at IS NULL AND project.deleted_at IS NULL ORDER BY project.id`;
  return rows.map(toProject);
}

/** Projects of a connected repository. */
export async function projectsOfRepository(sql: Sql, repositoryId: string): Promise<ConnectedProject[]> {
  const rows = await sql<Row[]>`
    SELECT id, organization_id, default_branch, config_path, repository_id
      FROM control.project WHERE repository_id = ${repositoryId} AND deleted_at IS NULL ORDER BY id`;
  return rows.map(toProject);
}

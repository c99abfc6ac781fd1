// Queries and updates of projects. Callers check access.
import type { ReleaseSettings } from '#core/release-settings.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { TimePage } from '../http/page.ts';
import { toReleaseSettings } from './guarded-releases.ts';
import { newId } from './ids.ts';
import { timestampOfColumn, newestFirst } from './timestamp.ts';
import { DATA_DAYS, lockProjectName } from './stored-projects.ts';

/** The fields of `project.settings` used here; other parts of the control plane store more. */
interface ProjectSettings {
  readonly buildCommand?: string;
  readonly outputDirectory?: string;
  readonly installCommand?: string;
  readonly redeployOnVariables?: boolean;
  readonly keepDeployments?: number;
  readonly release?: ReleaseSettings;
  /** A hash made by core/preview-access.ts. */
  readonly previewPassword?: string;
  readonly previewBypassHash?: string;
  /** The account that created the bypass token; the token is revoked with its membership. */
  readonly previewBypassBy?: string;
}

/** A row of control.project. */
interface ProjectRow {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly description: string;
  readonly visibility: 'private' | 'public';
  readonly kind: string | null;
  readonly repository_id: string | null;
  readonly config_path: string;
  readonly default_branch: string;
  readonly settings: ProjectSettings;
  readonly production_deployment_id: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly position: string;
}

export const toProject = (addresses: Dependencies['addresses'], row: ProjectRow) => ({
  id: row.id,
  name: row.name,
  organizationId: row.organization_id,
  repositoryId: row.repository_id,
  description: row.description,
  visibility: row.visibility,
  kind: row.kind,
  deploymentUrl: row.production_deployment_id === null ? null : projectUrl(addresses, row.name),
  configPath: row.config_path,
  defaultBranch: row.default_branch,
  productionDeploymentId: row.production_deployment_id,
  settings: {
    buildCommand: row.settings.buildCommand ?? null,
    outputDirectory: row.settings.outputDirectory ?? null,
    installCommand: row.settings.installCommand ?? null,
    redeployOnVariables: row.settings.redeployOnVariables ?? false,
    keepDeployments: row.settings.keepDeployments ?? null,
    release: row.settings.release === undefined ? null : toReleaseSettings(row.settings.release),
    hasPreviewPassword: row.settings.previewPassword !== undefined,
    hasPreviewBypass: row.settings.previewBypassHash !== undefined,
  },
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

/** The project's production URL. */
function projectUrl({ protocol, domain, port }: Dependencies['addresses'], name: string): string {
  return `${protocol}://${name}.${domain}${port === null ? '' : `:${port}`}`;
}

const fields = (sql: Sql | Transaction) => sql`
  id, organization_id, name, description, visibility, kind, repository_id, config_path, default_branch, settings,
  production_deployment_id, created_at, updated_at`;
const columns = (sql: Sql | Transaction) => sql`${fields(sql)}, ${timestampOfColumn(sql, 'created_at')} AS position`;

export async function readProject(sql: Sql | Transaction, id: string): Promise<ProjectRow> {
  const [row] = await sql<ProjectRow[]>`SELECT ${columns(sql)} FROM control.project WHERE id = ${id}`;
  return row!;
}

/** A page of projects. */
interface ProjectFilter {
  readonly organizationIds: readonly string[];
  /** Restricts the list to one project, for tokens that are bound to it. */
  readonly projectId: string | null;
  /** Part of a name or a description. */
  readonly search: string | null;
  readonly page: TimePage;
}

function filteredBy(sql: Sql, { organizationIds, projectId, search }: ProjectFilter) {
  const pattern = search === null ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`;
  return sql`organization_id = ANY(${[...organizationIds]}) AND deleted_at IS NULL
    ${projectId === null ? sql`` : sql`AND id = ${projectId}`}
    ${pattern === null ? sql`` : sql`AND (name LIKE ${pattern} OR description ILIKE ${pattern})`}`;
}

/** The newest first. */
export async function listProjects(sql: Sql, filter: ProjectFilter): Promise<ProjectRow[]> {
  return sql<ProjectRow[]>`
    SELECT ${columns(sql)} FROM control.project
    WHERE ${filteredBy(sql, filter)} ${newestFirst(sql, filter.page)}`;
}

/** Lists projects, the most recently deployed first; for a project without deployments, its creation counts. */
export async function listDeployedProjects(
  sql: Sql,
  filter: ProjectFilter,
): Promise<(ProjectRow & { readonly last_deployment_id: string | null })[]> {
  return sql`
    SELECT ${fields(sql)}, last_deployment_id, ${timestampOfColumn(sql, 'moved_at')} AS position
    FROM (
      SELECT ${fields(sql)}, last_deployment_id, coalesce(deployed_at, created_at) AS moved_at
      FROM control.project LEFT JOIN LATERAL (
        SELECT deployment.id AS last_deployment_id, deployment.created_at AS deployed_at FROM control.deployment
        WHERE deployment.project_id = project.id ORDER BY deployment.created_at DESC, deployment.id DESC LIMIT 1
      ) AS last ON true
      WHERE ${filteredBy(sql, filter)}
    ) AS listed
    WHERE true ${newestFirst(sql, filter.page, '', 'moved_at')}`;
}

/** Projects that have a production deployment, with its artifact; the most recently deployed project first. */
export async function listLiveArtifacts(
  sql: Sql,
  { organizationIds, projectId }: Pick<ProjectFilter, 'organizationIds' | 'projectId'>,
  count: number,
): Promise<{ readonly id: string; readonly artifact: string }[]> {
  return sql`
    SELECT project.id, deployment.artifact
    FROM control.project JOIN control.deployment ON deployment.id = project.production_deployment_id
    WHERE project.organization_id = ANY(${[...organizationIds]}) AND project.deleted_at IS NULL
      AND deployment.artifact IS NOT NULL ${projectId === null ? sql`` : sql`AND project.id = ${projectId}`}
    ORDER BY deployment.created_at DESC, project.id LIMIT ${count}`;
}

/** A project to add. */
interface NewProject {
  readonly organizationId: string;
  readonly name: string;
  readonly description: string;
  readonly visibility: 'private' | 'public';
  readonly kind: string | null;
}

/**
 * Adds a project; null if its name is taken. The name of a deleted project stays with its organization: a new project
 * with that name gets its data (stored-projects.ts).
 */
export async function addProject(tx: Transaction, given: NewProject): Promise<string | null> {
  const { organizationId, name } = given;
  await lockProjectName(tx, name);
  const taken = await tx`
    SELECT 1 FROM control.project
    WHERE name = ${name} AND (deleted_at IS NULL OR organization_id <> ${organizationId}) LIMIT 1`;
  if (taken.length > 0) return null;
  const id = newId('project');
  await tx`
    INSERT INTO control.project (id, organization_id, name, description, visibility, kind)
    VALUES (${id}, ${organizationId}, ${name}, ${given.description}, ${given.visibility}, ${given.kind})`;
  return id;
}

export async function countProjects(tx: Transaction, organizationId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int FROM control.project WHERE organization_id = ${organizationId} AND deleted_at IS NULL`;
  return row!.count;
}

/** Changes of a project. `undefined` keeps a field; null removes a setting. */
interface ProjectChange {
  readonly description?: string | undefined;
  readonly visibility?: 'private' | 'public' | undefined;
  readonly defaultBranch?: string | undefined;
  readonly configPath?: string | undefined;
  readonly settings: Readonly<Record<string, string | number | boolean | object | null>>;
}

/** Changes a project and marks its route record as outdated. */
export async function changeProject(tx: Transaction, id: string, change: ProjectChange): Promise<void> {
  const entries = Object.entries(change.settings);
  const kept = Object.fromEntries(entries.filter(([, value]) => value !== null));
  const gone = entries.filter(([, value]) => value === null).map(([name]) => name);
  await tx`
    UPDATE control.project SET
      description = coalesce(${change.description ?? null}, description),
      visibility = coalesce(${change.visibility ?? null}, visibility),
      default_branch = coalesce(${change.defaultBranch ?? null}, default_branch),
      config_path = coalesce(${change.configPath ?? null}, config_path),
      settings = (settings || ${tx.json(kept as never)}) - ${gone}::text[],
      route_version = route_version + 1, updated_at = now()
    WHERE id = ${id}`;
  await tx`SELECT pg_notify('control_route', ${id})`;
}

/**
 * Deletes a project: removes its route record and cancels its builds. Rows of the project are kept for the audit log,
 * and the data of its bindings for {@link DATA_DAYS} days.
 */
export async function deleteProject(tx: Transaction, id: string): Promise<void> {
  await tx`UPDATE control.job SET cancel_reason = 'project_deleted' WHERE project_id = ${id}`;
  await tx`
    UPDATE control.project SET deleted_at = now(), data_due_at = now() + ${DATA_DAYS} * interval '1 day',
      updated_at = now(), route_version = route_version + 1
    WHERE id = ${id}`;
  await tx`DELETE FROM control.domain WHERE project_id = ${id}`;
  await tx`DELETE FROM control.variable WHERE project_id = ${id}`;
  await tx`UPDATE control.token SET revoked_at = now() WHERE project_id = ${id} AND revoked_at IS NULL`;
  await tx`SELECT pg_notify('control_route', ${id})`;
  await tx`SELECT pg_notify('control_job', 'build')`;
}

/** Marks the route records of all projects of an organization as outdated. */
export async function touchProjects(tx: Transaction, organizationId: string): Promise<void> {
  const rows = await tx<{ id: string }[]>`
    UPDATE control.project SET route_version = route_version + 1
    WHERE organization_id = ${organizationId} AND deleted_at IS NULL RETURNING id`;
  if (rows.length > 0)
    await tx`SELECT pg_notify('control_route', id) FROM unnest(${rows.map(({ id }) => id)}::text[]) AS id`;
}

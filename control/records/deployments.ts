// Deployments and their build logs, as the API shows them. State changes are made by ../releases/ and the builder.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import type { TimePage } from '../http/page.ts';
import { deploymentUrls } from './deployment-urls.ts';
import { guardedOf, toGuarded, type GuardedRow } from './guarded-releases.ts';
import { timestampOfColumn, newestFirst } from './timestamp.ts';

/** States of a deployment; the first four are not final. */
export const deploymentStates = [
  'queued',
  'building',
  'uploading',
  'migrating',
  'success',
  'failure',
  'timeout',
  'canceled',
] as const;
type DeploymentState = (typeof deploymentStates)[number];

/** Whether a state is final. */
export function hasEnded(status: DeploymentState): boolean {
  return deploymentStates.indexOf(status) >= deploymentStates.indexOf('success');
}

/** A row of control.deployment, with the columns its URLs are built from. */
interface DeploymentRow {
  readonly id: string;
  readonly project_id: string;
  readonly organization_id: string;
  readonly project_name: string;
  readonly status: DeploymentState;
  readonly reason: string | null;
  readonly error_message: string | null;
  readonly target: 'production' | 'preview';
  readonly branch: string;
  readonly commit_sha: string | null;
  readonly commit_message: string | null;
  readonly author: string | null;
  readonly pull_request: number | null;
  readonly is_fork: boolean;
  readonly source: string;
  readonly created_by: string | null;
  readonly kind: string | null;
  readonly build_ms: number | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly ready_at: Date | null;
  readonly removed_at: Date | null;
  readonly is_production: boolean;
  readonly is_branch: boolean;
  readonly guarded: GuardedRow | null;
  readonly position: string;
}

export function toDeployment(addresses: Dependencies['addresses'], row: DeploymentRow) {
  const answers = row.status === 'success' && row.removed_at === null;
  const urls = deploymentUrls(addresses, row.project_name, {
    id: row.id,
    branch: row.branch,
    isProduction: row.is_production,
  });
  const own = urls.at(-1)!;
  const ofBranch = urls.at(-2)!;
  return {
    id: row.id,
    projectId: row.project_id,
    organizationId: row.organization_id,
    status: row.status,
    reason: row.reason,
    errorMessage: row.error_message,
    target: row.target,
    branch: row.branch,
    commitSha: row.commit_sha,
    commitMessage: row.commit_message,
    author: row.author,
    pullRequest: row.pull_request,
    isFork: row.is_fork,
    isLive: row.is_production,
    guardedRelease: row.guarded === null ? null : toGuarded(row.guarded),
    source: row.source,
    createdBy: row.created_by,
    kind: row.kind,
    url: answers ? own : null,
    aliasUrls: answers ? urls.filter((url) => url !== own && (url !== ofBranch || row.is_branch)) : [],
    buildDurationMs: row.build_ms,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    readyAt: row.ready_at?.toISOString() ?? null,
  };
}

const selected = (sql: Sql | Transaction) => sql`
  SELECT d.id, d.project_id, d.organization_id, p.name AS project_name, d.status, d.reason, d.error_message, d.target,
    d.branch, d.commit_sha, d.commit_message, d.author, d.pull_request, d.is_fork, d.source, d.created_by, d.kind,
    d.build_ms, d.created_at, d.updated_at, d.ready_at, d.removed_at,
    coalesce(p.production_deployment_id = d.id, false) AS is_production,
    EXISTS (SELECT 1 FROM control.branch b WHERE b.project_id = d.project_id AND b.name = d.branch AND b.deployment_id = d.id)
      AS is_branch,
    ${guardedOf(sql)} AS guarded,
    ${timestampOfColumn(sql, 'd.created_at')} AS position
  FROM control.deployment d JOIN control.project p ON p.id = d.project_id`;

export async function readDeployment(sql: Sql | Transaction, id: string): Promise<DeploymentRow> {
  const [row] = await sql<DeploymentRow[]>`${selected(sql)} WHERE d.id = ${id}`;
  return row!;
}

/** Deployments by their IDs. */
export async function readDeployments(sql: Sql, ids: readonly string[]): Promise<ReadonlyMap<string, DeploymentRow>> {
  const rows = await sql<DeploymentRow[]>`${selected(sql)} WHERE d.id = ANY(${[...ids]})`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** Selects deployments of one project, or of organizations. */
interface DeploymentFilter {
  readonly projectId: string | null;
  readonly organizationIds: readonly string[] | null;
  readonly branch: string | null;
  readonly status: DeploymentState | null;
  readonly target: 'production' | 'preview' | null;
  readonly page: TimePage;
}

/** The newest first. */
export async function listDeployments(sql: Sql, filter: DeploymentFilter): Promise<DeploymentRow[]> {
  const { projectId, organizationIds, branch, status, target, page } = filter;
  return sql<DeploymentRow[]>`
    ${selected(sql)}
    WHERE p.deleted_at IS NULL
      ${projectId === null ? sql`` : sql`AND d.project_id = ${projectId}`}
      ${organizationIds === null ? sql`` : ofOrganizations(sql, organizationIds)}
      ${branch === null ? sql`` : sql`AND d.branch = ${branch}`}
      ${status === null ? sql`` : sql`AND d.status = ${status}`}
      ${target === null ? sql`` : sql`AND d.target = ${target}`}
      ${newestFirst(sql, page, 'd.')}`;
}

/** For a single organization, the index also provides the order. */
function ofOrganizations(sql: Sql, ids: readonly string[]) {
  return ids.length === 1 ? sql`AND d.organization_id = ${ids[0]!}` : sql`AND d.organization_id = ANY(${[...ids]})`;
}

/**
 * Cancels a deployment: immediately if no process works on it, otherwise by notifying the process that works on it.
 *
 * @returns false if the deployment has already ended.
 */
export async function cancelDeployment(tx: Transaction, id: string): Promise<boolean> {
  const [row] = await tx<
    { status: DeploymentState }[]
  >`SELECT status FROM control.deployment WHERE id = ${id} FOR UPDATE`;
  if (row === undefined || hasEnded(row.status)) return false;
  const jobs = await tx<{ kind: string; is_free: boolean }[]>`
    SELECT kind, lease IS NULL OR lease_until < now() AS is_free FROM control.job WHERE deployment_id = ${id} FOR UPDATE`;
  if (row.status === 'queued' && jobs.every(({ is_free: isFree }) => isFree)) {
    await tx`DELETE FROM control.job WHERE deployment_id = ${id}`;
    await tx`
      UPDATE control.deployment SET status = 'canceled', reason = 'canceled', updated_at = now() WHERE id = ${id}`;
    await tx`SELECT pg_notify('control_deployment', ${id})`;
    return true;
  }
  await tx`UPDATE control.job SET cancel_reason = coalesce(cancel_reason, 'canceled') WHERE deployment_id = ${id}`;
  for (const { kind } of jobs) await tx`SELECT pg_notify('control_job', ${kind})`;
  return true;
}

/** A line of a build log. */
interface LogRow {
  readonly seq: number;
  readonly at: Date;
  readonly step: string;
  readonly level: string;
  readonly text: string;
}

/** Lines after a given number. */
export async function readLog(sql: Sql, deploymentId: string, after: number, count: number): Promise<LogRow[]> {
  return sql<LogRow[]>`
    SELECT seq, at, step, level, text FROM control.build_log
    WHERE deployment_id = ${deploymentId} AND seq > ${after} ORDER BY seq LIMIT ${count}`;
}

export const toLine = ({ seq, at, step, level, text }: LogRow) => ({ seq, at: at.toISOString(), step, level, text });

/** State of a deployment, for its followers. */
export async function readState(
  sql: Sql,
  id: string,
): Promise<{ readonly status: DeploymentState; readonly reason: string | null } | null> {
  const [row] = await sql<{ status: DeploymentState; reason: string | null }[]>`
    SELECT status, reason FROM control.deployment WHERE id = ${id}`;
  return row ?? null;
}

// Build jobs in `control.job`: claims with a lease, renewal, and results. All times come from the database's clock, so
// that clock skew does not matter. Each change of a deployment's status is one transaction with its NOTIFY.
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { BuildResult } from '../../steps/types.ts';

/** A claimed build. */
export interface BuildJob {
  readonly id: number;
  /** Token of this claim. */
  readonly lease: string;
  readonly deploymentId: string;
  readonly projectId: string;
  readonly branch: string;
  readonly input: JobInput;
  /** The number of the attempt, which is 1 for the first claim. */
  readonly attempt: number;
  readonly attemptsMax: number;
}

/** The payload, as written by control/releases/. */
interface JobInput {
  readonly repositoryId?: string;
  /** Null means the newest commit of the branch. */
  readonly commit?: string | null;
  /** Whether to start with an empty cache. */
  readonly clearCache?: boolean;
}

/** The result of a build without an artifact. */
export interface BuildEnd {
  readonly status: 'failure' | 'timeout' | 'canceled';
  readonly reason: string;
  readonly message: string | null;
  readonly buildMs: number | null;
}

/** An arbitrary advisory lock key: claims are serialized, so that a branch is not built twice concurrently. */
const CLAIM_LOCK = 7_528_341_002;

/** Options of {@link claimBuild}. */
interface Claim {
  /** Token of this claim. */
  readonly lease: string;
  readonly leaseMs: number;
  /** Leases of the builder's own builds: they may have expired while Postgres was unavailable. */
  readonly own: readonly string[];
  /**
   * Whether the builder has only one free slot left, which no organization with a running build in this builder gets.
   */
  readonly isLastPlace: boolean;
}

/**
 * Claims the next build. Organizations are ordered by their running builds, then by their build time in the last hour.
 * Within an organization, projects are ordered by their running builds, then by the oldest job. An organization with a
 * running build in this builder does not get the builder's last free slot, unless no other organization has a project.
 * One build runs per branch. Canceled builds, and builds interrupted too often, are finished here.
 *
 * @returns null when no build is due.
 */
export async function claimBuild(sql: Sql, { lease, leaseMs, own, isLastPlace }: Claim): Promise<BuildJob | null> {
  for (;;) {
    const claimed = await sql.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(${CLAIM_LOCK}::bigint)`;
      const [next] = await tx<{ id: number; deployment_id: string }[]>`
        WITH running AS MATERIALIZED (
          SELECT r.id, r.project_id, r.branch, d.organization_id, coalesce(r.lease = ANY(${own as string[]}), false) AS is_own
          FROM control.job r JOIN control.deployment d ON d.id = r.deployment_id
          WHERE r.kind = 'build' AND (r.lease_until >= clock_timestamp() OR r.lease = ANY(${own as string[]}))
        )
        SELECT j.id, j.deployment_id FROM control.job j JOIN control.deployment d ON d.id = j.deployment_id
        WHERE j.kind = 'build' AND j.due_at <= clock_timestamp()
          AND (j.lease IS NULL OR (j.lease_until < clock_timestamp() AND j.lease <> ALL(${own as string[]})))
          AND (NOT d.is_fork OR d.approved_by IS NOT NULL OR j.cancel_reason IS NOT NULL)
          AND NOT EXISTS (
            SELECT 1 FROM running r WHERE r.project_id = j.project_id AND r.branch = j.branch AND r.id <> j.id)
          AND (NOT ${isLastPlace}::boolean OR j.cancel_reason IS NOT NULL
            OR NOT EXISTS (SELECT 1 FROM running r WHERE r.organization_id = d.organization_id AND r.is_own)
            OR NOT EXISTS (SELECT 1 FROM control.project p WHERE p.organization_id <> d.organization_id))
        ORDER BY (j.cancel_reason IS NULL),
          (SELECT count(*) FROM running r WHERE r.organization_id = d.organization_id),
          (SELECT coalesce(sum(u.build_ms), 0) FROM control.deployment u
            WHERE u.organization_id = d.organization_id AND u.created_at > clock_timestamp() - interval '1 day'
              AND u.updated_at > clock_timestamp() - interval '1 hour'),
          (SELECT count(*) FROM running r WHERE r.project_id = j.project_id), j.due_at, j.id
        LIMIT 1`;
      if (next === undefined) return null;
      await lockDeployment(tx, next.deployment_id);
      const [row] = await tx<JobRow[]>`
        SELECT id, deployment_id, project_id, branch, input, attempt, attempts_max, cancel_reason FROM control.job
        WHERE id = ${next.id} AND (lease IS NULL OR lease_until < clock_timestamp()) FOR UPDATE`;
      // Superseded in the meantime.
      if (row === undefined) return 'ended';
      const end = endOf(row);
      if (end !== null) {
        await tx`DELETE FROM control.job WHERE id = ${row.id}`;
        await endDeployment(tx, row.deployment_id, end);
        return 'ended';
      }
      await tx`
        UPDATE control.job SET lease = ${lease}, attempt = attempt + 1,
          lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
        WHERE id = ${row.id}`;
      const [building] = await tx`
        UPDATE control.deployment SET status = 'building', reason = NULL, error_message = NULL, updated_at = now()
        WHERE id = ${row.deployment_id} AND status IN ('queued', 'building', 'uploading') RETURNING id`;
      if (building === undefined) {
        // Another process has finished this build: no build is needed.
        await tx`DELETE FROM control.job WHERE id = ${row.id}`;
        return 'ended';
      }
      await tell(tx, row.deployment_id);
      return toJob(row, lease);
    });
    if (claimed !== 'ended') return claimed;
  }
}

interface JobRow {
  readonly id: number;
  readonly deployment_id: string;
  readonly project_id: string;
  readonly branch: string;
  readonly input: JobInput;
  readonly attempt: number;
  readonly attempts_max: number;
  readonly cancel_reason: string | null;
}

function toJob(row: JobRow, lease: string): BuildJob {
  return {
    id: row.id,
    lease,
    deploymentId: row.deployment_id,
    projectId: row.project_id,
    branch: row.branch,
    input: row.input,
    attempt: row.attempt + 1,
    attemptsMax: row.attempts_max,
  };
}

function endOf(row: JobRow): BuildEnd | null {
  if (row.cancel_reason !== null) return canceled(row.cancel_reason, null);
  if (row.attempt < row.attempts_max) return null;
  return {
    status: 'failure',
    reason: 'interrupted',
    message: `The build was interrupted ${row.attempt} times: its builder was stopped or lost. Deploy again`,
    buildMs: null,
  };
}

/** The result of a canceled build. @param reason `job.cancel_reason`. */
export function canceled(reason: string, buildMs: number | null): BuildEnd {
  const message = reason === 'superseded' ? 'A newer commit of the branch is built instead' : null;
  return { status: 'canceled', reason, message, buildMs };
}

/**
 * Renews leases.
 *
 * @returns the leases still held, with the reason if the build was canceled.
 */
export async function renewLeases(
  sql: Sql,
  leases: readonly string[],
  leaseMs: number,
): Promise<{ readonly lease: string; readonly cancelReason: string | null }[]> {
  return sql`
    UPDATE control.job SET lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
    WHERE kind = 'build' AND lease = ANY(${leases as string[]})
    RETURNING lease, cancel_reason AS "cancelReason"`;
}

/**
 * Makes builds claimed by earlier builders on this data folder due again: they have exited, since we hold the folder's
 * lock.
 */
export async function takeOverLeases(sql: Sql, owner: string): Promise<number> {
  const { count } = await sql`
    UPDATE control.job SET lease = NULL, lease_until = NULL
    WHERE kind = 'build' AND starts_with(lease, ${`${owner}.`})`;
  return count;
}

/** Releases a claimed build without counting the attempt. */
export async function releaseBuild(sql: Sql, job: BuildJob): Promise<void> {
  await sql.begin(async (tx) => {
    await lockDeployment(tx, job.deploymentId);
    const { count } = await tx`
      UPDATE control.job SET lease = NULL, lease_until = NULL, attempt = attempt - 1
      WHERE id = ${job.id} AND lease = ${job.lease}`;
    if (count === 0) return;
    await tx`
      UPDATE control.deployment SET status = 'queued', updated_at = now()
      WHERE id = ${job.deploymentId} AND status IN ('building', 'uploading')`;
    await tell(tx, job.deploymentId);
  });
}

/** Records that the artifact is complete and being stored. Returns false if the lease is lost. */
export async function markUploading(sql: Sql, job: BuildJob): Promise<boolean> {
  return sql.begin(async (tx) => {
    await lockDeployment(tx, job.deploymentId);
    const [held] = await tx`SELECT id FROM control.job WHERE id = ${job.id} AND lease = ${job.lease} FOR UPDATE`;
    if (held === undefined) return false;
    await tx`
      UPDATE control.deployment SET status = 'uploading', updated_at = now()
      WHERE id = ${job.deploymentId} AND status IN ('building', 'uploading')`;
    await tell(tx, job.deploymentId);
    return true;
  });
}

/**
 * Records that the artifact is stored, and passes the deployment to its release.
 *
 * @returns false if the lease is lost, or the reason if the build was canceled in the meantime; nothing is then
 * changed.
 */
export async function handToRelease(
  sql: Sql,
  job: BuildJob,
  result: BuildResult,
  buildMs: number,
): Promise<true | false | { readonly cancelReason: string }> {
  return sql.begin(async (tx) => {
    await lockDeployment(tx, job.deploymentId);
    const [held] = await tx<{ cancel_reason: string | null }[]>`
      SELECT cancel_reason FROM control.job WHERE id = ${job.id} AND lease = ${job.lease} FOR UPDATE`;
    if (held === undefined) return false;
    if (held.cancel_reason !== null) return { cancelReason: held.cancel_reason };
    const { commit } = result;
    await tx`
      UPDATE control.deployment SET artifact = ${result.artifactId}, kind = ${result.kind}, build_ms = ${buildMs},
        commit_sha = coalesce(commit_sha, ${commit?.sha ?? null}),
        commit_message = coalesce(commit_message, ${commit?.message ?? null}),
        author = coalesce(author, ${commit?.author ?? null}), updated_at = now()
      WHERE id = ${job.deploymentId}`;
    await tx`UPDATE control.project SET kind = ${result.kind} WHERE id = ${job.projectId} AND kind IS DISTINCT FROM ${result.kind}`;
    await tx`DELETE FROM control.job WHERE id = ${job.id}`;
    await tx`
      INSERT INTO control.job (kind, deployment_id, project_id, branch)
      VALUES ('release', ${job.deploymentId}, ${job.projectId}, ${job.branch})
      ON CONFLICT (kind, deployment_id) DO NOTHING`;
    await tx`SELECT pg_notify('control_job', 'release')`;
    await tell(tx, job.deploymentId);
    return true;
  });
}

/** Records a build without an artifact. Returns false, and changes nothing, if the lease is lost. */
export async function endBuild(sql: Sql, job: BuildJob, end: BuildEnd): Promise<boolean> {
  return sql.begin(async (tx) => {
    await lockDeployment(tx, job.deploymentId);
    const { count } = await tx`DELETE FROM control.job WHERE id = ${job.id} AND lease = ${job.lease}`;
    if (count === 0) return false;
    await endDeployment(tx, job.deploymentId, end);
    return true;
  });
}

async function endDeployment(tx: Transaction, deploymentId: string, end: BuildEnd): Promise<void> {
  await tx`
    UPDATE control.deployment SET status = ${end.status}, reason = ${end.reason}, error_message = ${end.message},
      build_ms = coalesce(${end.buildMs}::int, build_ms), updated_at = now()
    WHERE id = ${deploymentId} AND status IN ('queued', 'building', 'uploading')`;
  await tell(tx, deploymentId);
  // The branch has no running build any more: another builder may be waiting to build it.
  await tx`SELECT pg_notify('control_job', 'build')`;
}

/**
 * Locks the deployment before its job. All transactions that change both rows lock them in this order, which prevents
 * deadlocks.
 */
async function lockDeployment(tx: Transaction, id: string): Promise<void> {
  await tx`SELECT id FROM control.deployment WHERE id = ${id} FOR NO KEY UPDATE`;
}

async function tell(tx: Transaction, deploymentId: string): Promise<void> {
  await tx`SELECT pg_notify('control_deployment', ${deploymentId})`;
}

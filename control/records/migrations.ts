// The migrator's records of a project's migrations (`control.database_migration_audit`), the newest first. Read by
// api/routes/migrations.ts.
import type { Sql } from '#postgres/sql.ts';

/** A migration of one deployment on one database. */
export interface AuditedMigration {
  readonly id: number;
  readonly deploymentId: string;
  readonly database: string;
  readonly branch: string | null;
  readonly file: string;
  readonly sha256: string;
  readonly result: 'running' | 'applied' | 'failed' | 'changed';
  readonly errorMessage: string | null;
  /** Account that requested the release or promotion. */
  readonly requestedBy: string | null;
  readonly login: string | null;
  /** Author of the commit, for pushes. */
  readonly author: string | null;
  readonly appliedBy: string;
  readonly attempt: number;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly durationMs: number | null;
}

/** Filters of the query. */
interface MigrationFilters {
  readonly deploymentId?: string | undefined;
  readonly database?: string | undefined;
  /** Null: production. */
  readonly branch?: string | null | undefined;
  readonly result?: string | undefined;
}

/** @param before id of a row; null means start with the newest. */
export async function readMigrations(
  sql: Sql,
  projectId: string,
  { deploymentId, database, branch, result }: MigrationFilters,
  count: number,
  before: number | null,
): Promise<AuditedMigration[]> {
  return sql<AuditedMigration[]>`
    SELECT m.seq AS id, m.deployment_id AS "deploymentId", m.resource AS database, m.branch, m.filename AS file,
      m.sha256, m.result, m.error_message AS "errorMessage", m.requested_by AS "requestedBy", a.login,
      d.author, m.applied_by AS "appliedBy", m.attempt, m.started_at AS "startedAt", m.finished_at AS "finishedAt",
      m.duration_ms AS "durationMs"
    FROM control.database_migration_audit m
    LEFT JOIN control.account a ON a.id = m.requested_by
    LEFT JOIN control.deployment d ON d.id = m.deployment_id
    WHERE m.project_id = ${projectId}
      ${before === null ? sql`` : sql`AND m.seq < ${before}`}
      ${deploymentId === undefined ? sql`` : sql`AND m.deployment_id = ${deploymentId}`}
      ${database === undefined ? sql`` : sql`AND m.resource = ${database}`}
      ${branch === undefined ? sql`` : sql`AND m.branch IS NOT DISTINCT FROM ${branch}`}
      ${result === undefined ? sql`` : sql`AND m.result = ${result}`}
    ORDER BY m.seq DESC LIMIT ${count}`;
}

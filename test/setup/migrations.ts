// Deployments with migrations, as a control plane has them, and migrators over them: for tests of runtime/migrator/.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalJson, hashOf } from '#core/artifact-id.ts';
import { defaultLimits, type MigratorLimits } from '#core/limits.ts';
import { openLog } from '#core/log/log.ts';
import { newDeploymentId } from '#control/records/ids.ts';
import { createArtifactSource } from '#artifacts/artifact-source.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import type { MigratedDatabases } from '#runtime/engine/process/migrations.ts';
import { startMigrator } from '#runtime/migrator/migrator.ts';
import { staticArtifact } from './archives.ts';
import type { TestControl } from './control.ts';

/** Files of one database, by name. */
export type MigrationFiles = Readonly<Record<string, string>>;

/** A row of the audit, without what differs from run to run. */
interface AuditRow {
  readonly resource: string;
  readonly filename: string;
  readonly result: string;
  readonly attempt: number;
  readonly branch: string | null;
}

/** Stores an artifact with databases. @returns its id. */
function storeMigrations(folder: string, databases: Readonly<Record<string, MigrationFiles>>): string {
  const { manifest, files } = staticArtifact();
  const migrations = JSON.stringify(
    Object.entries(databases).map(([resource, own]) => ({ resource, files: Object.entries(own) })),
  );
  const db = Object.fromEntries(Object.keys(databases).map((resource) => [resource.toUpperCase(), resource]));
  const own = canonicalJson({ ...manifest, bindings: { db }, migrations: { hash: hashOf(migrations) } });
  const place = path.join(folder, 'artifacts', hashOf(own));
  mkdirSync(path.join(place, 'assets'), { recursive: true });
  writeFileSync(path.join(place, 'manifest.json'), own);
  writeFileSync(path.join(place, 'migrations.json'), migrations);
  writeFileSync(path.join(place, 'assets/index.html'), files['assets/index.html']!);
  return hashOf(own);
}

/** A deployment that is being released. */
export async function addDeployment(
  { sql, organizationId, owner, deps }: TestControl,
  projectId: string,
  databases: Readonly<Record<string, MigrationFiles>>,
  branch = 'main',
): Promise<{ readonly id: string; readonly artifact: string }> {
  const id = newDeploymentId();
  const artifact = storeMigrations(deps.folder, databases);
  await sql`
    INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, source, artifact, created_by)
    VALUES (${id}, ${projectId}, ${organizationId}, 'migrating', ${branch === 'main' ? 'production' : 'preview'},
      ${branch}, 'upload', ${artifact}, ${owner.accountId})`;
  return { id, artifact };
}

/** A migrator as a process of its own, as far as Postgres can tell. */
export async function startTestMigrator(
  { databaseUrl, deps }: TestControl,
  databases: MigratedDatabases,
  { member = 'host.1.a', ...limits }: Partial<MigratorLimits> & { readonly member?: string } = {},
): Promise<{ close(): Promise<void>; kill(): Promise<void> }> {
  const sql = openSql({ url: databaseUrl, name: 'test migrator', connectionsMax: 6 });
  const migrator = await startMigrator({
    sql,
    log: openLog('migrator', {}, { write: () => {} }),
    databases,
    openArtifact: createArtifactSource(deps.folder),
    limits: { ...defaultLimits.migrator, ...limits },
    member,
  });
  let isKilled = false;
  return {
    async close() {
      if (isKilled) return;
      await migrator.close();
      await sql.end({ timeout: 1 });
    },
    // Its connections break, and what it waits for never comes.
    async kill() {
      isKilled = true;
      await sql.end({ timeout: 0 });
      void migrator.close();
    },
  };
}

/** Rows of the audit in their order. */
export async function auditOf(sql: Sql, deploymentId: string): Promise<AuditRow[]> {
  const rows = await sql<AuditRow[]>`
    SELECT resource, filename, result, attempt, branch FROM control.database_migration_audit
    WHERE deployment_id = ${deploymentId} ORDER BY seq`;
  return rows.map((row) => ({ ...row }));
}

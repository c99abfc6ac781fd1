// One attempt at a run: opens the artifact, applies the migrations of each database one after the other, and records
// each migration. No migration is applied twice: a database records its migrations in the transaction of each, and is
// queried before every migration (docs/decisions/93-the-database-says-what-is-applied.md). Called by migrator.ts.
import { storeProblem } from '#artifacts/store/stored.ts';
import { pendingMigrations } from '#core/database-migrations.ts';
import { isFailure } from '#core/failure.ts';
import type { MigratorLimits } from '#core/limits.ts';
import { branchSlug } from '#core/names.ts';
import { ofPreview, withoutPreview } from '#core/preview.ts';
import { copiesDatabases } from '#core/preview-settings.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { Sql } from '#postgres/sql.ts';
import { migrateArtifact, type MigratedDatabase, type MigratedDatabases } from '../engine/process/migrations.ts';
import {
  beginMigration,
  endMigration,
  giveUpMigrations,
  noteChange,
  settleMigrations,
  type AuditedMigration,
} from './audit.ts';
import { endRun, releaseRun, type ClaimedRun } from './claims.ts';

/** Dependencies of an attempt. */
export interface AttemptDeps {
  readonly sql: Sql;
  readonly databases: MigratedDatabases;
  /** Opens an artifact, which is fetched first if it is not on this machine. */
  readonly openArtifact: (id: string) => OpenArtifact | Promise<OpenArtifact>;
  readonly limits: MigratorLimits;
  /** Name of this process in the audit table. */
  readonly member: string;
  /** Whether the process is stopping, so that no further migration is started. */
  readonly stopping: AbortSignal;
}

type Files = readonly (readonly [name: string, sql: string])[];

/** An interruption of an attempt for another reason than the migrations. The attempt is repeated, and not counted. */
interface Interruption {
  /** `broken` means that this process does not repeat the attempt, because the lease expires. */
  readonly why: 'away' | 'stopped' | 'broken';
  readonly error: Error;
}

/** @throws {Failure} `lease_lost`, which must be ignored; errors of Postgres, after which the lease expires. */
export async function attemptRun(deps: AttemptDeps, run: ClaimedRun): Promise<void> {
  const { sql, limits } = deps;
  const fail = (error: string, databases: readonly MigratedDatabase[] = []): Promise<void> =>
    endRun(sql, run, { status: 'failure', error, databases });
  if (run.obsolete !== null) return endRun(sql, run, { status: 'canceled', error: run.obsolete, databases: [] });
  let opened: OpenArtifact;
  try {
    opened = await deps.openArtifact(run.artifact);
    opened.migrations();
  } catch (error) {
    const isAway = isFailure(error, 'artifact_store') && error.reason === 'away';
    if (isAway && run.ageMs <= limits.awayMs) return releaseRun(sql, run);
    return fail(
      isFailure(error, 'artifact_store')
        ? storeProblem('The artifact could not be read', error)
        : (error as Error).message,
    );
  }
  // After the allowed attempts, one more attempt only checks the resulting state.
  const isOver = run.attempt > limits.attemptsMax;
  const preview = run.branch === null ? null : branchSlug(run.branch, run.projectName);
  const audited = auditedDatabases(deps, run, preview);
  const copies = run.branch !== null && copiesDatabases(opened.manifest, run.branch);
  const order = { namespace: run.projectName, preview, copies, dryRun: isOver };
  const databases = await migrateArtifact(audited.databases, order, opened);
  const interruption = audited.interruption();
  if (interruption?.why === 'broken') throw interruption.error;
  if (isOver || (interruption?.why === 'away' && run.ageMs > limits.awayMs)) {
    const reason = isOver
      ? `The migrations were interrupted ${limits.attemptsMax} times (MIGRATOR_MAX_ATTEMPTS)`
      : interruption!.error.message;
    await giveUpMigrations(sql, run, `${reason}; whether this one was applied is not known`);
    return fail(reason, databases);
  }
  if (interruption !== null) return releaseRun(sql, run);
  const failed = databases.find(({ error }) => error !== null)?.error ?? null;
  await endRun(sql, run, {
    status: failed === null ? 'success' : 'failure',
    error: failed === null ? null : failed.message,
    databases,
  });
}

/** Databases whose migrations are applied one at a time, each with its row. */
function auditedDatabases(
  { sql, databases, limits, member, stopping }: AttemptDeps,
  run: ClaimedRun,
  preview: string | null,
): { readonly databases: MigratedDatabases; interruption(): Interruption | null } {
  /** Databases whose changed files are already recorded. */
  const compared = new Set<string>();
  let interruption: Interruption | null = null;

  /**
   * If the record cannot be written, or a service is unavailable, the attempt ends without a result for the migration.
   */
  async function keeping<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      interruption ??= { why: 'broken', error: error as Error };
      throw error;
    }
  }
  async function asking<Result>(work: () => Promise<Result>): Promise<Result> {
    if (interruption !== null) throw interruption.error;
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: unknown }).code === 'database_unavailable')
        interruption ??= { why: 'away', error: error as Error };
      throw error;
    }
  }

  const audited: MigratedDatabases = {
    branch: (place, resource, options) => asking(() => databases.branch(place, resource, options)),
    async migrations(place, files) {
      const resource = withoutPreview(place.resource);
      try {
        const known = await asking(() => databases.migrations(place, files));
        if (place.resource === ofPreview(resource, preview))
          await keeping(() => settleMigrations(sql, run, resource, known.applied));
        return known;
      } catch (error) {
        if ((error as { code?: unknown }).code === 'migration_changed' && !compared.has(resource)) {
          compared.add(resource);
          await compare(place, files, resource);
        }
        throw error;
      }
    },
    async migrate(place, files) {
      const resource = withoutPreview(place.resource);
      const { pending } = await audited.migrations(place, files);
      const applied: string[] = [];
      for (const migration of toAudited(resource, files).filter(({ file }) => pending.includes(file))) {
        if (stopping.aborted) interruption ??= { why: 'stopped', error: new Error('The migrator was stopped') };
        await apply(place, files, migration);
        applied.push(migration.file);
      }
      return applied;
    },
  };
  return { databases: audited, interruption: () => interruption };

  async function apply(
    place: Parameters<MigratedDatabases['migrate']>[0],
    files: Files,
    migration: AuditedMigration,
  ): Promise<void> {
    const alone = files.filter(([name]) => name === migration.file);
    if (interruption !== null) throw interruption.error;
    await keeping(() => beginMigration(sql, run, migration, member, limits.leaseMs));
    const began = performance.now();
    try {
      const done = await asking(() => databases.migrate(place, alone));
      const ms = done.length === 0 ? null : performance.now() - began;
      await keeping(() => endMigration(sql, run, migration, { error: null, ms }));
    } catch (error) {
      // The row of the migration stays open, and the next attempt determines the result.
      if (interruption !== null) throw error;
      // An interrupted attempt may still be running, in a remote database.
      const known = await asking(() => databases.migrations(place, alone)).catch(() => null);
      const isThere = known?.applied.includes(migration.file) === true;
      if (interruption !== null) throw (interruption as Interruption).error;
      const end = isThere
        ? { error: null, ms: null }
        : { error: (error as Error).message, ms: performance.now() - began };
      await keeping(() => endMigration(sql, run, migration, end));
      if (!isThere) throw error;
    }
  }

  /** Records each file whose text in the database differs. */
  async function compare(
    place: Parameters<MigratedDatabases['migrations']>[0],
    files: Files,
    resource: string,
  ): Promise<void> {
    for (const migration of toAudited(resource, files)) {
      const alone = files.filter(([name]) => name === migration.file);
      try {
        await asking(() => databases.migrations(place, alone));
      } catch (error) {
        const { code, message } = error as { code?: unknown; message: string };
        if (code === 'migration_changed') await keeping(() => noteChange(sql, run, migration, message, member));
      }
    }
  }
}

/** Files with their hashes, in the order of application. */
function toAudited(resource: string, files: Files): AuditedMigration[] {
  return pendingMigrations(files, new Map()).map(({ file, hash }) => ({ resource, file, hash }));
}

// Applies an artifact's migrations to a project's databases before any route leads to it, for the release of a
// deployment (`POST /_platform/migrate`). Reports the result by database; stops at the first failure.
// serving/database-preparation.ts does it at the first request of a deployment without a release.
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { isErrorCode, type ErrorCode } from '#core/errors.ts';
import { ofPreview } from '#core/preview.ts';
import type { DatabaseOwner } from '../../stores/database-service.ts';

/** Database operations of a release. */
export type MigratedDatabases = Pick<DatabaseOwner, 'branch' | 'migrate' | 'migrations'>;

/** Why a database could not be migrated. */
interface MigrationError {
  readonly code: ErrorCode;
  readonly message: string;
  /** Set for a migration that failed, or was changed after it was applied. */
  readonly file?: string;
  /** The line, from 1, and the first 500 characters of the failed statement. */
  readonly line?: number;
  readonly statement?: string;
}

/** The result for one database. */
export interface MigratedDatabase {
  /** Name in platform.yaml. */
  readonly resource: string;
  /** Whether the database was created now, as a copy of that of production. */
  readonly copied: boolean;
  /** File names of migrations that were applied now, had been applied before, and are pending. */
  readonly applied: readonly string[];
  readonly present: readonly string[];
  readonly pending: readonly string[];
  readonly error: MigrationError | null;
}

/** The parameters of a migration of databases. */
interface MigrationOrder {
  readonly namespace: string;
  /** Slug of the branch whose databases are migrated; null means the databases of production. */
  readonly preview: string | null;
  /** Whether a preview's databases start as copies of production's. */
  readonly copies: boolean;
  /** Whether pending migrations are only reported, and not applied. */
  readonly dryRun: boolean;
}

/** Never rejects: an error is in the last element of the list. */
export async function migrateArtifact(
  databases: MigratedDatabases,
  { namespace, preview, copies, dryRun }: MigrationOrder,
  { manifest, migrations }: Pick<OpenArtifact, 'manifest' | 'migrations'>,
): Promise<MigratedDatabase[]> {
  const files = new Map(
    manifest.migrations === undefined ? [] : migrations().map(({ resource, files: own }) => [resource, own] as const),
  );
  const isCopied = preview !== null && copies;
  const declared = isCopied ? Object.values(manifest.bindings['db'] ?? {}) : [];
  const done: MigratedDatabase[] = [];
  for (const resource of new Set([...declared, ...files.keys()])) {
    const database = await migrateOne(resource, files.get(resource) ?? []);
    done.push(database);
    if (database.error !== null) break;
  }
  return done;

  async function migrateOne(
    resource: string,
    own: readonly (readonly [name: string, sql: string])[],
  ): Promise<MigratedDatabase> {
    const origin = { namespace, resource };
    const place = { namespace, resource: ofPreview(resource, preview) };
    let copied = false;
    let before: readonly string[] = [];
    let pending: readonly string[] = own.map(([name]) => name);
    try {
      if (isCopied && !dryRun) {
        const { made } = await databases.branch(origin, place.resource, { unlessThere: true });
        copied = made;
      }
      let known = await databases.migrations(place, own);
      // A copy that does not exist yet has the same state as production.
      if (dryRun && isCopied && !known.there) known = await databases.migrations(origin, own);
      ({ applied: before, pending } = known);
      if (dryRun || pending.length === 0)
        return { resource, copied, applied: [], present: before, pending, error: null };
      const applied = await databases.migrate(place, own);
      return { resource, copied, applied, present: before, pending: [], error: null };
    } catch (error) {
      const known = await databases.migrations(place, own).catch(() => null);
      const now = known?.applied ?? before;
      const applied = now.filter((name) => !before.includes(name));
      const left = pending.filter((name) => !applied.includes(name));
      return { resource, copied, applied, present: before, pending: left, error: toMigrationError(error) };
    }
  }
}

function toMigrationError(error: unknown): MigrationError {
  const { code, message, details } = error as { code?: unknown; message: string; details?: Record<string, unknown> };
  // Errors of SQLite have their own codes.
  if (!isErrorCode(code)) return { code: 'database_unavailable', message };
  const { file, line, statement } = details ?? {};
  return {
    code,
    message,
    ...(typeof file === 'string' && { file }),
    ...(typeof line === 'number' && { line }),
    ...(typeof statement === 'string' && { statement }),
  };
}

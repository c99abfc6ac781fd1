// Determines pending migrations of a database, with the same rules wherever the database is. Pure.
import { createHash } from 'node:crypto';
import { PlatformError } from './errors.ts';

/** The table of applied migrations. */
export const migrationLedger = `CREATE TABLE IF NOT EXISTS platform_internal_db_migrations (
  filename TEXT PRIMARY KEY, executed_at TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID`;

/** Returns file names and hashes. */
export const appliedMigrations = 'SELECT filename, sha256 FROM platform_internal_db_migrations';

/** Parameters: file name, time and hash. */
export const rememberMigration = 'INSERT INTO platform_internal_db_migrations VALUES (?, ?, ?)';

/** A migration to apply. */
export interface PendingMigration {
  readonly file: string;
  readonly sql: string;
  readonly hash: string;
}

/**
 * Pending migrations, in the order of their names.
 *
 * @param files names and SQL.
 * @param applied names and hashes. @throws {PlatformError} `migration_changed` if the text of an applied migration has
 * changed; `invalid_argument`.
 */
export function pendingMigrations(files: readonly unknown[], applied: ReadonlyMap<string, string>): PendingMigration[] {
  const pending: PendingMigration[] = [];
  for (const [file, sql] of files.map(toFile).toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))) {
    // Line breaks are normalized, because a checkout on another system may have different line breaks.
    const hash = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
    const known = applied.get(file);
    if (known === undefined) pending.push({ file, sql, hash });
    else if (known !== hash) throw new PlatformError('migration_changed', { file });
  }
  return pending;
}

function toFile(value: unknown): [file: string, sql: string] {
  const [file, sql] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof file === 'string' && typeof sql === 'string' && file !== '' && file.length <= 255) return [file, sql];
  throw new PlatformError('invalid_argument', { reason: 'A migration must have a file name and SQL text' });
}

// Migrations of a database: each file once, in a transaction with its row of the ledger. Called by database-file.ts.
import type { DatabaseLimits } from '#core/limits.ts';
import {
  appliedMigrations,
  migrationLedger,
  pendingMigrations,
  rememberMigration,
  type PendingMigration,
} from '#core/database-migrations.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { Connection } from './connection.ts';
import type { KnownMigrations } from '../protocol/frames.ts';
import { splitStatements } from './sql-text.ts';
import { isBusy, isCorruption, toRefusal } from './sqlite-errors.ts';

/** Limit per file. */
const STATEMENTS_MAX = 10_000;
/** Shown characters of a failed statement. */
const SHOWN_CHARS_MAX = 500;

/**
 * Reads the state without changes.
 *
 * @param connection null if the database does not exist yet.
 * @throws {PlatformError} as `pendingMigrations`.
 */
export function knownMigrations(connection: Connection | null, files: readonly unknown[]): KnownMigrations {
  const hasLedger =
    connection !== null &&
    connection.own("SELECT 1 FROM sqlite_schema WHERE name = 'platform_internal_db_migrations'").length > 0;
  const rows = hasLedger
    ? (connection.own(`${appliedMigrations} ORDER BY executed_at, filename`) as [string, string][])
    : [];
  return {
    there: connection !== null,
    applied: rows.map(([file]) => file),
    pending: pendingMigrations(files, new Map(rows)).map(({ file }) => file),
  };
}

/**
 * Applies pending files, in the order of their names. A failed file has no effect, and those before it stay applied.
 *
 * @returns the names applied now.
 * @throws {PlatformError} `migration_failed` with file, line, statement and SQLite's message; as `pendingMigrations`.
 */
export function migrate(connection: Connection, files: readonly unknown[], limits: DatabaseLimits): string[] {
  connection.own(migrationLedger);
  const applied = new Map(connection.own(appliedMigrations) as [string, string][]);
  const pending = pendingMigrations(files, applied);
  for (const migration of pending) apply(connection, migration, limits);
  return pending.map(({ file }) => file);
}

function apply(connection: Connection, { file, sql, hash }: PendingMigration, limits: DatabaseLimits): void {
  let line = 1;
  let text = '';
  // Rebuilding a table requires unchecked keys until the end, which SQLite can only switch outside a transaction.
  const unchecked = /\bPRAGMA\s+foreign_keys\s*=\s*(?:OFF|0|FALSE|NO)\b/i.test(sql);
  if (unchecked) connection.own('PRAGMA foreign_keys=OFF');
  try {
    connection.own('BEGIN IMMEDIATE');
    for (const statement of splitStatements(sql, STATEMENTS_MAX)) {
      line = statement.line;
      text = statement.sql;
      if (Buffer.byteLength(statement.sql) > limits.execBytesMax)
        throw new SqlRefusal('SQLITE_TOOBIG', 'statement too long');
      connection.run(connection.compile(statement), []);
    }
    const broken = unchecked ? connection.own('PRAGMA foreign_key_check')[0] : undefined;
    if (broken !== undefined) {
      const message = `FOREIGN KEY constraint failed: ${String(broken[0])} refers to ${String(broken[2])}`;
      throw new SqlRefusal('SQLITE_CONSTRAINT_FOREIGNKEY', message);
    }
    connection.own(rememberMigration, file, new Date().toISOString(), hash);
    connection.own('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.own('ROLLBACK');
    // The caller handles damaged and busy files.
    if (isCorruption(error) || isBusy(error)) throw error;
    const statement = text.trim().slice(0, SHOWN_CHARS_MAX);
    throw new PlatformError('migration_failed', { file, line, statement, reason: toRefusal(error).message });
  } finally {
    connection.forget();
    if (unchecked) connection.own('PRAGMA foreign_keys=ON');
  }
}

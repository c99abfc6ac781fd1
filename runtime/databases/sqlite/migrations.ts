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
import { splitStatements } from './sql-text.ts';
import { isBusy, isCorruption, toRefusal } from './sqlite-errors.ts';

/** Of one file: a schema is not one statement. */
const STATEMENTS_MAX = 10_000;

/**
 * Applies the files that were not applied yet, in the order of their names. A failed file leaves nothing behind, and
 * those before it stay applied.
 *
 * @returns the names applied now.
 * @throws {PlatformError} `migration_failed` with file, line and SQLite's message; as `pendingMigrations`.
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
  // Rebuilding a table needs keys unchecked until the end, which SQLite can only switch outside a transaction.
  const unchecked = /\bPRAGMA\s+foreign_keys\s*=\s*(?:OFF|0|FALSE|NO)\b/i.test(sql);
  if (unchecked) connection.own('PRAGMA foreign_keys=OFF');
  try {
    connection.own('BEGIN IMMEDIATE');
    for (const statement of splitStatements(sql, STATEMENTS_MAX)) {
      line = statement.line;
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
    // Others decide about these.
    if (isCorruption(error) || isBusy(error)) throw error;
    throw new PlatformError('migration_failed', { file, line, reason: toRefusal(error).message });
  } finally {
    connection.forget();
    if (unchecked) connection.own('PRAGMA foreign_keys=ON');
  }
}

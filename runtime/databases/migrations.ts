// Migrations of a database: each file once, in a transaction with its row of the ledger. Called by database-file.ts.
import { createHash } from 'node:crypto';
import type { DatabaseLimits } from '#core/database-limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { Connection } from './connection.ts';
import { splitStatements } from './sql-text.ts';
import { isCorruption, toRefusal } from './sqlite-errors.ts';

const ledger = `CREATE TABLE IF NOT EXISTS platform_internal_db_migrations (
  filename TEXT PRIMARY KEY, executed_at TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID`;

/** Files of one migration, however large: a schema is not one statement. */
const STATEMENTS_MAX = 10_000;

/**
 * Applies the files that were not applied yet, in the order of their names. A failed file leaves nothing behind, and those
 * before it stay applied.
 *
 * @returns the names applied now.
 * @throws {PlatformError} `migration_failed` with file, line and SQLite's message; `migration_changed` for an applied file
 * whose text is another now.
 */
export function migrate(connection: Connection, files: readonly unknown[], limits: DatabaseLimits): string[] {
  connection.own(ledger);
  const known = new Map(connection.own('SELECT filename, sha256 FROM platform_internal_db_migrations') as [string, string][]);
  const pending: [file: string, sql: string, hash: string][] = [];
  for (const [file, sql] of files.map(fileOf).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    // A checkout on another system must not look like a change.
    const hash = createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex');
    const applied = known.get(file);
    if (applied === undefined) pending.push([file, sql, hash]);
    else if (applied !== hash) throw new PlatformError('migration_changed', { file });
  }
  for (const [file, sql, hash] of pending) apply(connection, file, sql, hash, limits);
  return pending.map(([file]) => file);
}

function fileOf(value: unknown): [file: string, sql: string] {
  const [file, sql] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof file === 'string' && typeof sql === 'string' && file !== '' && file.length <= 255) return [file, sql];
  throw new SqlRefusal('SQLITE_MISUSE', 'a migration must be a file name and SQL text');
}

function apply(connection: Connection, file: string, sql: string, hash: string, limits: DatabaseLimits): void {
  let line = 1;
  // Rebuilding a table needs keys unchecked until the end, which SQLite can only switch outside a transaction.
  const unchecked = /\bPRAGMA\s+foreign_keys\s*=\s*(?:OFF|0|FALSE|NO)\b/i.test(sql);
  if (unchecked) connection.own('PRAGMA foreign_keys=OFF');
  connection.own('BEGIN IMMEDIATE');
  try {
    for (const statement of splitStatements(sql, STATEMENTS_MAX)) {
      line = statement.line;
      if (Buffer.byteLength(statement.sql) > limits.execBytesMax) throw new SqlRefusal('SQLITE_TOOBIG', 'statement too long');
      connection.run(connection.compile(statement), []);
    }
    const broken = unchecked ? connection.own('PRAGMA foreign_key_check')[0] : undefined;
    if (broken !== undefined) {
      throw new SqlRefusal(
        'SQLITE_CONSTRAINT_FOREIGNKEY',
        `FOREIGN KEY constraint failed: ${String(broken[0])} refers to ${String(broken[2])}`,
      );
    }
    connection.own('INSERT INTO platform_internal_db_migrations VALUES (?, ?, ?)', file, new Date().toISOString(), hash);
    connection.own('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.own('ROLLBACK');
    if (isCorruption(error)) throw error;
    throw new PlatformError('migration_failed', { file, line, reason: toRefusal(error).message });
  } finally {
    connection.forget();
    if (unchecked) connection.own('PRAGMA foreign_keys=ON');
  }
}

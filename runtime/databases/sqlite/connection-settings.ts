// Opens a database file with the settings of a connection: SQLite's limits, PRAGMAs, sqlite-vec, the fence. Called by
// connection.ts, which closes it.
import { DatabaseSync } from 'node:sqlite';
import type { DatabaseLimits } from '#core/limits.ts';
import type { Fence } from './fence.ts';
import { loadVectors } from './vector-module.ts';

export const PAGE_BYTES = 4096;
const BUSY_MS = 50;
/** Room for the SQL around the hex values of one row, in the longest statement of an imported file. */
const BULK_SQL_BYTES = 1_048_576;
/** How long a writer in a separate process waits for a transaction of another process. */
const BULK_BUSY_MS = 10_000;

/** Options of opening a file. */
export interface ConnectionOptions {
  readonly path: string;
  readonly limits: DatabaseLimits;
  /** `normal` survives the death of the process, `full` also a power failure. */
  readonly synchronous: 'normal' | 'full';
  /**
   * Options for one transaction of any size, in a separate process: statements as long as the longest value in hex,
   * sorting on disk, foreign keys unchecked until `PRAGMA foreign_key_check`, one attached file, and a log that grows
   * until it is truncated.
   */
  readonly isBulk?: boolean;
  /** Path of sqlite-vec's library; null if there is none; by default the library for this machine. */
  readonly vectorLibrary?: string | null;
}

/** Size limit for a statement of an imported file, in bytes. */
export function bulkStatementBytesMax(limits: DatabaseLimits): number {
  return Math.max(limits.statementBytesMax, 2 * limits.valueBytesMax + BULK_SQL_BYTES);
}

/** Opens a file whose SQL is checked by a fence. @throws SQLite's error when the file is not a database. */
export function openFenced(
  { path, limits, synchronous, isBulk = false, vectorLibrary }: ConnectionOptions,
  fence: Fence,
): DatabaseSync {
  // Within this process there are no lock conflicts (waiting-jobs.ts); two dev servers of a workspace may have
  // them.
  const db = new DatabaseSync(path, {
    returnArrays: true,
    timeout: isBulk ? BULK_BUSY_MS : BUSY_MS,
    // Extensions are allowed only until the module below is loaded.
    allowExtension: true,
    defensive: true,
    // As in D1, "x" is a text if no column has that name.
    enableDoubleQuotedStringLiterals: true,
    enableForeignKeyConstraints: !isBulk,
  });
  try {
    // This must come before the schema is read, because SQLite asks a module which tables are its own.
    fence.hasVectors = loadVectors(db, vectorLibrary);
    Object.assign(db.limits, {
      length: limits.valueBytesMax,
      sqlLength: isBulk ? bulkStatementBytesMax(limits) : Math.max(limits.execBytesMax, limits.statementBytesMax),
      variableNumber: Math.min(32_766, limits.parametersMax),
      attach: isBulk ? 1 : 0,
      triggerDepth: 100,
    });
    // Temporary b-trees stay in memory, which the watchdog limits, so no other file is created next to the database.
    // An index of millions of rows is sorted in unnamed files.
    const memory = isBulk
      ? 'PRAGMA temp_store=FILE; PRAGMA cache_size=-32768; '
      : 'PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2000; ';
    db.exec(
      `PRAGMA journal_mode=WAL; PRAGMA synchronous=${synchronous}; PRAGMA wal_autocheckpoint=0; ${memory}` +
        `PRAGMA max_page_count=${pagesMaxOf(limits)}; PRAGMA journal_size_limit=16777216; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON`,
    );
    // A locked file is retried later (waiting-jobs.ts): SQLite's own wait would block other databases.
    if (!isBulk) db.exec('PRAGMA busy_timeout=0');
    db.setAuthorizer(fence.authorize);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Number of pages of the largest possible database. */
export function pagesMaxOf({ databaseBytesMax }: DatabaseLimits): number {
  return Math.ceil(databaseBytesMax / PAGE_BYTES);
}

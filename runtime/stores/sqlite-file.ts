// A SQLite file of the platform, which several processes may open at the same time. Used by stores over such a file.
import Database from 'better-sqlite3';
import { sqliteMigrations } from '#postgres/sqlite-migrations.ts';

/** How long to wait for the lock of another process. */
const BUSY_MS = 10_000;
const PAUSE_MS = 5;

/**
 * Opens the file in WAL mode, and creates it if necessary. `:memory:` stores nothing. Blocks the process while others
 * hold the lock of the file, at most ten seconds.
 * @throws SQLite's error when the file is not a database, or stays locked.
 */
export function openSqliteFile(file: string): Database.Database {
  const db = new Database(file, { timeout: BUSY_MS });
  const deadline = performance.now() + BUSY_MS;
  // The switch to WAL is retried: SQLite waits for locks, but not for a process that switches the same new file to WAL
  // at the same time, because waiting could deadlock.
  for (;;) {
    try {
      db.pragma('journal_mode = WAL');
      return db;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_BUSY' || performance.now() > deadline) {
        db.close();
        throw error;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

/**
 * Creates these tables in a file, or migrates them, in one transaction.
 *
 * @param before runs first in a file without a version; the function that it returns runs when the tables exist.
 * Together, they migrate data of an older platform.
 * @throws {Error} when a newer version of the platform wrote the file.
 */
export function migrateSqliteFile(
  db: Database.Database,
  tables: readonly string[],
  before: () => () => void = () => () => {},
): void {
  const scripts = sqliteMigrations(tables);
  db.transaction(() => {
    const applied = db.pragma('user_version', { simple: true }) as number;
    if (applied > scripts.length) throw new Error(`${db.name} was written by a newer version of the platform`);
    const after = applied === 0 ? before() : () => {};
    for (const script of scripts.slice(applied)) db.exec(script);
    after();
    db.pragma(`user_version = ${scripts.length}`);
  }).immediate();
}

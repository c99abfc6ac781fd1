// A SQLite file of the platform's own, which several processes may open at once. Used by the stores that keep theirs in
// one.
import Database from 'better-sqlite3';
import { sqliteMigrations } from '#postgres/sqlite-migrations.ts';

/** How long somebody waits for the lock of another process. */
const BUSY_MS = 10_000;
const PAUSE_MS = 5;

/**
 * Opens the file in WAL mode, and makes it where there is none. `:memory:` keeps nothing. Stops the process while
 * others hold its lock, ten seconds at most.
 * @throws SQLite's error when the file is no database, or stays locked.
 */
export function openSqliteFile(file: string): Database.Database {
  const db = new Database(file, { timeout: BUSY_MS });
  const deadline = performance.now() + BUSY_MS;
  // SQLite waits for locks, but not for the one who turns the same new file to WAL at the same moment: waiting could be
  // a deadlock there.
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
 * Makes these tables in a file, or brings them up to date, in one transaction.
 *
 * @param before runs first in a file without a version, and what it returns when the tables are there: together they
 *   take over what an older platform wrote.
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

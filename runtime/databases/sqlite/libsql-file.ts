// A database file of a libSQL server made one of ours: libSQL writes SQLite files, but for what only it understands.
// The source is read, and never changed or opened. Called by operations/libsql/.
import { constants, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrationLedger, pendingMigrations, rememberMigration } from '#core/database-migrations.ts';

/** What became of a file. */
export interface TakenFile {
  readonly bytes: number;
  readonly tables: number;
  /** Indexes over vectors, which no SQLite has: they are left out, their columns stay. */
  readonly leftOut: readonly string[];
}

/** The file is no database that SQLite can read whole. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

const VECTOR_META = 'libsql_vector_meta_shadow';
const parts = ['', '-wal'];

/**
 * Copies a database file, with what its server has left in the log, into a place that is free.
 *
 * @param migrations files, name and SQL, that count as applied from the start.
 * @throws {UnreadableFile} then nothing is left at the target.
 */
export function takeLibsqlFile(
  source: string,
  target: string,
  migrations: readonly (readonly [name: string, sql: string])[],
): TakenFile {
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
  const copy = `${target}.importing`;
  removeParts(copy);
  try {
    for (const part of parts)
      if (existsSync(source + part)) copyFileSync(source + part, copy + part, constants.COPYFILE_FICLONE);
    const taken = prepare(copy, migrations);
    renameSync(copy, target);
    return { ...taken, bytes: statSync(target).size };
  } catch (error) {
    if (error instanceof UnreadableFile) throw error;
    throw new UnreadableFile((error as Error).message, { cause: error });
  } finally {
    removeParts(copy);
  }
}

function prepare(
  file: string,
  migrations: readonly (readonly [name: string, sql: string])[],
): Pick<TakenFile, 'tables' | 'leftOut'> {
  const db = new DatabaseSync(file);
  try {
    const leftOut = dropVectorIndexes(db);
    const [check] = db.prepare('PRAGMA integrity_check(1)').all() as { integrity_check: string }[];
    if (check?.integrity_check !== 'ok') throw new UnreadableFile(`It is damaged: ${check?.integrity_check}`);
    const own = db
      .prepare(`SELECT name FROM sqlite_schema WHERE name LIKE 'platform\\_internal\\_%' ESCAPE '\\'`)
      .get();
    if (own !== undefined) throw new UnreadableFile(`It is a database of this platform already: it has ${own['name']}`);
    db.exec(migrationLedger);
    const remember = db.prepare(rememberMigration);
    const now = new Date().toISOString();
    for (const migration of pendingMigrations(migrations, new Map())) remember.run(migration.file, now, migration.hash);
    const { tables } = db
      .prepare(`SELECT count(*) AS tables FROM sqlite_schema
        WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'platform\\_internal\\_%' ESCAPE '\\'`)
      .get() as { tables: number };
    // All of it into the one file.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return { tables, leftOut };
  } finally {
    db.close();
  }
}

/** SQLite reads their tables, but no row could be written while they are there. */
function dropVectorIndexes(db: DatabaseSync): string[] {
  const indexes = db
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%libsql\\_vector\\_idx%' ESCAPE '\\'`)
    .all() as { name: string }[];
  for (const { name } of indexes) {
    db.exec(`DROP INDEX ${quoted(name)}`);
    db.exec(`DROP TABLE IF EXISTS ${quoted(`${name}_shadow`)}`);
  }
  db.exec(`DROP TABLE IF EXISTS ${VECTOR_META}`);
  return indexes.map(({ name }) => name);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function removeParts(file: string): void {
  for (const part of ['', '-wal', '-shm', '-journal']) rmSync(file + part, { force: true });
}

// Converts a database file of a libSQL server: libSQL writes SQLite files, except for features that only it supports.
// The source is read, and never changed or opened. Called by operations/libsql/.
import { constants, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrationLedger, pendingMigrations, rememberMigration } from '#core/database-migrations.ts';
import { Failure, isFailure } from '#core/failure.ts';

/** The result of a conversion. */
export interface TakenFile {
  readonly bytes: number;
  readonly tables: number;
  /** Vector indexes that were dropped, because SQLite does not support them; their columns are kept. */
  readonly leftOut: readonly string[];
}

const VECTOR_META = 'libsql_vector_meta_shadow';
const parts = ['', '-wal'];

/**
 * Copies a database file, including its server's log, to an unused path.
 *
 * @param migrations files, name and SQL, that count as applied. @throws {Failure} `unreadable_database`; no file is
 * then left at the target.
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
    if (isFailure(error, 'unreadable_database')) throw error;
    throw new Failure('unreadable_database', (error as Error).message, { cause: error });
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
    if (check?.integrity_check !== 'ok')
      throw new Failure('unreadable_database', `It is damaged: ${check?.integrity_check}`);
    const own = db
      .prepare(`SELECT name FROM sqlite_schema WHERE name LIKE 'platform\\_internal\\_%' ESCAPE '\\'`)
      .get();
    if (own !== undefined)
      throw new Failure(
        'unreadable_database',
        `The file is already a database of this platform: it has ${own['name']}`,
      );
    db.exec(migrationLedger);
    const remember = db.prepare(rememberMigration);
    const now = new Date().toISOString();
    for (const migration of pendingMigrations(migrations, new Map())) remember.run(migration.file, now, migration.hash);
    const { tables } = db
      .prepare(`SELECT count(*) AS tables FROM sqlite_schema
        WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'platform\\_internal\\_%' ESCAPE '\\'`)
      .get() as { tables: number };
    // Checkpoints all content into the single file.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return { tables, leftOut };
  } finally {
    db.close();
  }
}

/** SQLite can read their tables, but not write rows while they exist. */
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

// One import as one transaction: accepts statements of a dump of any tool, or tables of an attached file, validates the
// result and commits. Called by importer.ts. Independent of processes and SQL files.
import { migrationLedger } from '#core/database-migrations.ts';
import { ownTablePrefix, SqlRefusal } from '#core/database-request.ts';
import type { Connection } from '../sqlite/connection.ts';
import type { StatementText } from '../sqlite/sql-text.ts';
import { toRefusal } from '../sqlite/sqlite-errors.ts';
import { isFraming, quoted, wordsOf, type StatementWords } from './statement-words.ts';
import { VirtualTables } from './virtual-tables.ts';
import { WatchedStatements, type Watch } from './watched-statements.ts';

/** Table of applied migrations. */
export const LEDGER = `${ownTablePrefix}db_migrations`;
const KNOW_MIGRATION = `INSERT OR IGNORE INTO ${LEDGER} VALUES (?, ?, ?)`;
/** How many omitted tables are listed by name. */
const LEFT_OUT_MAX = 20;
/** How many broken references are listed. */
const BROKEN_SHOWN_MAX = 5;

const schemaTables = new Set(['sqlite_schema', 'sqlite_master']);
/** Tables with statistics that this build of SQLite does not maintain. */
const foreignStatistics = new Set(['sqlite_stat3', 'sqlite_stat4']);

/** Result of an import. */
export interface Imported {
  readonly statements: number;
  /** Data that was omitted, such as `platform_internal_outbox`. */
  readonly leftOut: readonly string[];
}

export class ImportTransaction {
  readonly #connection: Connection;
  readonly #watch: Watch;
  readonly #sql: WatchedStatements;
  /** The virtual tables that the import created. */
  readonly virtualTables: VirtualTables;
  readonly #leftOut = new Set<string>();
  /** Lower-case names of tables that the import created. */
  readonly #made = new Set<string>();
  #statements = 0;

  /** Begins the transaction: from here on, no other process writes. */
  constructor(connection: Connection, watch: Watch) {
    this.#connection = connection;
    this.#watch = watch;
    this.#sql = new WatchedStatements(connection, watch);
    this.virtualTables = new VirtualTables(connection, this.#sql);
    watch(true, () => connection.own('BEGIN IMMEDIATE'));
  }

  get statements(): number {
    return this.#statements;
  }

  /** Drops everything except the platform's own tables. */
  empty(): void {
    const named = (where: string): string[] =>
      this.#connection
        .own(
          `SELECT s.name FROM sqlite_schema s WHERE ${where} AND s.name NOT LIKE 'sqlite@_%' ESCAPE '@'
           AND s.name NOT LIKE 'platform@_internal@_%' ESCAPE '@' ORDER BY s.rowid`,
        )
        .map(([name]) => String(name));
    this.#watch(true, () => {
      for (const name of named(`s.type = 'trigger'`)) this.#connection.ownScript(`DROP TRIGGER ${quoted(name)}`);
      for (const name of named(`s.type = 'view'`)) this.#connection.ownScript(`DROP VIEW ${quoted(name)}`);
      for (const name of named(`s.type = 'table' AND s.rootpage = 0`))
        this.#connection.ownScript(`DROP TABLE ${quoted(name)}`);
      for (const name of named(`s.type = 'table'`)) this.#connection.ownScript(`DROP TABLE ${quoted(name)}`);
      for (const [name] of this.#connection.own(`SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat1'`))
        this.#connection.ownScript(`DROP TABLE ${String(name)}`);
    });
  }

  /** Whether there is no table or view besides the platform's own. */
  get isEmpty(): boolean {
    const [found] = this.#connection.own(
      `SELECT 1 FROM sqlite_schema WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@'
       AND name NOT LIKE 'platform@_internal@_%' ESCAPE '@' LIMIT 1`,
    );
    return found === undefined;
  }

  /** Processes a statement of a file. @throws {SqlRefusal} with its line. */
  take(statement: StatementText): void {
    try {
      const words = wordsOf(statement.sql);
      if (isFraming(words)) return;
      this.#take(statement, words);
    } catch (error) {
      const { code, message } = toRefusal(error);
      throw new SqlRefusal(code, message, [statement.line, statement.sql.slice(0, 200)]);
    }
    this.#statements++;
  }

  #take(statement: StatementText, words: StatementWords): void {
    const { verb, name, on } = words;
    const key = name.toLowerCase();
    if (verb === 'ROLLBACK')
      throw new SqlRefusal(
        'SQLITE_ERROR',
        'the file ends in a ROLLBACK: its export failed, and the file is incomplete',
      );
    if (verb === 'SAVEPOINT' || verb === 'RELEASE')
      throw new SqlRefusal('SQLITE_AUTH', 'not authorized: the file is one transaction, and has no savepoints');
    if (key.startsWith(ownTablePrefix) || on.toLowerCase().startsWith(ownTablePrefix)) this.#takeOwn(statement, words);
    else if (verb === 'INSERT' && schemaTables.has(key)) this.#takeSchemaRow(statement, words);
    else if (verb === 'INSERT' && foreignStatistics.has(key)) this.leave(key);
    else if (verb === 'CREATE TABLE' && key.startsWith('sqlite_')) return;
    else if (verb === 'DELETE' && key === 'sqlite_sequence') this.#forgetSequences(statement, words);
    else if (verb === 'CREATE VIRTUAL TABLE') this.virtualTables.makeOfDump(statement, name, this.#made);
    else {
      const owner = this.virtualTables.ownerOf(key);
      if (owner !== undefined && verb === 'CREATE TABLE') return;
      if (owner !== undefined && owner.module === 'vec0' && verb === 'INSERT') {
        this.virtualTables.holdRows(owner, key, this.#sql.rowsOf(statement, words));
        return;
      }
      if (owner !== undefined && verb === 'INSERT') this.virtualTables.intoShadow(owner, key, statement);
      else this.#sql.run(statement, verb === 'CREATE INDEX');
      if (verb === 'CREATE TABLE') this.#made.add(key);
    }
  }

  /** Records an omission. */
  leave(what: string): void {
    if (this.#leftOut.size < LEFT_OUT_MAX) this.#leftOut.add(what);
  }

  /**
   * Of the platform's tables, only the applied migrations are imported, because messages belong to queues of another
   * platform.
   */
  #takeOwn(statement: StatementText, words: StatementWords): void {
    const { verb } = words;
    const key = words.name.toLowerCase();
    if (verb === 'INSERT' && key === LEDGER) {
      for (const row of this.#sql.rowsOf(statement, words)) this.knowMigration(row);
      return;
    }
    if (verb === 'INSERT') this.leave(key);
    else if (!verb.startsWith('CREATE ')) this.#sql.run(statement, false);
  }

  /** Imports a row of the ledger of migrations; existing rows are kept. @throws {SqlRefusal} if the row is invalid. */
  knowMigration([file, executedAt, hash]: readonly unknown[]): void {
    const isRow =
      typeof file === 'string' &&
      file !== '' &&
      file.length <= 255 &&
      typeof executedAt === 'string' &&
      executedAt.length <= 40 &&
      typeof hash === 'string' &&
      /^[0-9a-f]{64}$/.test(hash);
    if (!isRow) throw new SqlRefusal('SQLITE_ERROR', `a row of ${LEDGER} is a file, a time and a SHA-256`);
    this.#connection.own(migrationLedger);
    this.#connection.own(KNOW_MIGRATION, file, executedAt, hash);
  }

  /** `.dump` writes a virtual table as a row of the schema. */
  #takeSchemaRow(statement: StatementText, words: StatementWords): void {
    for (const row of this.#sql.rowsOf(statement, words)) {
      const [type, name, , , sql] = row;
      const isVirtual = type === 'table' && typeof name === 'string' && typeof sql === 'string';
      const made = isVirtual ? wordsOf(sql) : null;
      if (made === null || made.verb !== 'CREATE VIRTUAL TABLE' || made.name !== name)
        throw new SqlRefusal('SQLITE_AUTH', 'not authorized: only rows of virtual tables are imported from the schema');
      this.virtualTables.makeOfDump({ sql: sql as string, parameters: 0, line: 1 }, made.name, this.#made);
    }
  }

  /** Adds rows to a table, which may be a shadow table of a virtual table. */
  fill(table: string, sql: string, values: readonly bigint[]): void {
    const virtual = this.virtualTables.ownerOf(table);
    const statement = { sql, parameters: values.length, line: 1 };
    try {
      if (virtual === undefined) this.#sql.run(statement, true, values);
      else this.virtualTables.intoShadow(virtual, table.toLowerCase(), statement, values);
    } catch (error) {
      const { code, message } = toRefusal(error);
      throw new SqlRefusal(code, `${table}: ${message}`);
    }
    this.#statements++;
  }

  /** The next row id for a file reader, or null. */
  lastOf(sql: string, from: bigint): bigint | null {
    const found = this.#watch(true, () => this.#connection.own(sql, from))[0]?.[0];
    return typeof found === 'string' ? BigInt(found) : null;
  }

  /** `DELETE FROM sqlite_sequence` of a dump: tables that it does not create keep their counters. */
  #forgetSequences(statement: StatementText, { restAt }: StatementWords): void {
    if (statement.sql.slice(restAt).trim() !== '') this.#sql.run(statement, false);
    else
      for (const table of this.#made) this.#connection.own('DELETE FROM sqlite_sequence WHERE lower(name) = ?', table);
  }

  /** Runs a statement generated by the file reader. */
  run(sql: string, values: readonly (string | number | bigint)[] = [], isLong = true): void {
    this.#sql.run({ sql, parameters: values.length, line: 1 }, isLong, values);
    this.#statements++;
  }

  /** Checks that need the complete import. @throws {SqlRefusal} */
  check(): void {
    this.virtualTables.check();
    this.#watch(true, () => this.#checkKeys());
  }

  /** Commits after the checks. @throws {SqlRefusal} the database is then unchanged. */
  commit(): Imported {
    this.#watch(true, () => this.#connection.own('COMMIT'));
    return { statements: this.#statements, leftOut: [...this.#leftOut] };
  }

  #checkKeys(): void {
    const broken = this.#connection.own(
      `SELECT "table", "rowid", "parent" FROM pragma_foreign_key_check LIMIT ${BROKEN_SHOWN_MAX + 1}`,
    );
    if (broken.length === 0) return;
    const shown = broken
      .slice(0, BROKEN_SHOWN_MAX)
      .map(
        ([table, rowid, parent]) =>
          `${String(table)}${rowid === null ? '' : ` row ${String(rowid)}`} refers to ${String(parent)}`,
      );
    const more = broken.length > BROKEN_SHOWN_MAX ? ', and more' : '';
    throw new SqlRefusal('SQLITE_CONSTRAINT_FOREIGNKEY', `FOREIGN KEY constraint failed: ${shown.join(', ')}${more}`);
  }
}

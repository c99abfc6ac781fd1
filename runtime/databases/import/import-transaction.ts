// One import as one transaction: accepts statements of a dump of any tool, or tables of an attached file, validates the
// result and commits. Called by importer.ts. Independent of processes and SQL files.
import { migrationLedger } from '#core/database-migrations.ts';
import { fromWire, ownTablePrefix, SqlRefusal } from '#core/database-request.ts';
import type { Connection } from '../sqlite/connection.ts';
import type { StatementText } from '../sqlite/sql-text.ts';
import { toRefusal } from '../sqlite/sqlite-errors.ts';
import { unquoted, wordsOf, type StatementWords } from './statement-words.ts';
import { insertVectors, partOf } from './vector-rows.ts';

/** Table of applied migrations. */
export const LEDGER = `${ownTablePrefix}db_migrations`;
const KNOW_MIGRATION = `INSERT OR IGNORE INTO ${LEDGER} VALUES (?, ?, ?)`;
/** Limit for listed omissions, by name. */
const LEFT_OUT_MAX = 20;
/** Limit for listed broken references. */
const BROKEN_SHOWN_MAX = 5;

/** Framing statements of dumps are skipped: the import is one transaction, and checks keys at its end. */
const framing = new Set(['BEGIN', 'COMMIT', 'END']);
/** Settings of a connection or of the file format, which do not affect the content. */
const settings = new Set([
  'foreign_keys',
  'defer_foreign_keys',
  'ignore_check_constraints',
  'writable_schema',
  'legacy_alter_table',
  'journal_mode',
  'synchronous',
  'locking_mode',
  'temp_store',
  'cache_size',
  'mmap_size',
  'page_size',
  'auto_vacuum',
  'encoding',
]);
const schemaTables = new Set(['sqlite_schema', 'sqlite_master']);
/** Statistics that this SQLite does not maintain. */
const foreignStatistics = new Set(['sqlite_stat3', 'sqlite_stat4']);
/** Suffixes of the shadow tables of each kind of virtual table, after its name and `_`. */
const shadowSuffixes = ['data', 'idx', 'content', 'docsize', 'config', 'node', 'parent', 'rowid'];

/** A virtual table that the import created. */
interface VirtualTable {
  readonly name: string;
  readonly module: string;
  readonly shadows: readonly string[];
  /** Whether the table's shadow tables were filled from the dump. */
  isCopied: boolean;
  /** The parts of a `vec0` table that the file contains, by lower-case name. */
  readonly parts: Map<string, string>;
}

/** Result of an import. */
export interface Imported {
  readonly statements: number;
  /** Data that was omitted, such as `platform_internal_outbox`. */
  readonly leftOut: readonly string[];
}

/** Wraps operations that may take as long as the whole import: sorting an index, checking all keys. */
export type Watch = <Result>(isLong: boolean, run: () => Result) => Result;

export class ImportTransaction {
  readonly #connection: Connection;
  readonly #watch: Watch;
  readonly #leftOut = new Set<string>();
  /** The tables, by the lower-case names of their shadow tables. */
  readonly #shadows = new Map<string, VirtualTable>();
  readonly #virtual: VirtualTable[] = [];
  /** Lower-case names of tables that the import created. */
  readonly #made = new Set<string>();
  #statements = 0;
  /** Number of the next table with rows that are kept. */
  #held = 0;

  /** Begins the transaction: from here on, no other process writes. */
  constructor(connection: Connection, watch: Watch) {
    this.#connection = connection;
    this.#watch = watch;
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
    else if (verb === 'CREATE VIRTUAL TABLE') this.#makeVirtual(statement, name);
    else {
      const owner = this.#shadows.get(key);
      if (owner !== undefined && verb === 'CREATE TABLE') return;
      if (owner !== undefined && owner.module === 'vec0' && verb === 'INSERT') {
        this.#holdRows(owner, key, this.#valuesOf(statement, words));
        return;
      }
      if (owner !== undefined && verb === 'INSERT') this.intoShadow(owner, key, statement);
      else this.#run(statement, verb === 'CREATE INDEX');
      if (verb === 'CREATE TABLE') this.#made.add(key);
    }
  }

  #run(statement: StatementText, isLong: boolean, values: readonly (string | number | bigint)[] = []): void {
    this.#watch(isLong, () => this.#connection.change(this.#connection.compile(statement), values));
  }

  /** The rows of `VALUES ...` at the end of an INSERT. */
  #valuesOf({ sql }: StatementText, { restAt }: StatementWords): unknown[][] {
    const at = /\bVALUES\b/i.exec(sql.slice(restAt))?.index;
    if (at === undefined)
      throw new SqlRefusal('SQLITE_ERROR', 'rows of this table are only imported from VALUES (...)');
    const values = { sql: sql.slice(restAt + at), parameters: 0, line: 1 };
    const { json } = this.#watch(false, () => this.#connection.run(this.#connection.compile(values), []));
    return (JSON.parse(`{${json}}`) as { r: unknown[][] }).r;
  }

  /** Stores rows of a part of a `vec0` table until the whole file is read. */
  #holdRows(owner: VirtualTable, key: string, rows: readonly unknown[][]): void {
    let held = owner.parts.get(key);
    if (held === undefined) {
      held = `${ownTablePrefix}import_${this.#held++}`;
      this.#connection.ownScript(`CREATE TABLE ${held} AS SELECT * FROM ${quoted(key)} LIMIT 0`);
      owner.parts.set(key, held);
    }
    for (const row of rows)
      this.#connection.own(`INSERT INTO ${held} VALUES (${row.map(() => '?').join(', ')})`, ...row.map(fromWire));
  }

  /** Records which table of the file contains a part of a `vec0` table; false if the table is not such a part. */
  hold(table: string, source: string): boolean {
    const owner = this.#shadows.get(table.toLowerCase());
    if (owner?.module !== 'vec0') return false;
    owner.parts.set(table.toLowerCase(), source);
    return true;
  }

  #insertVectors({ name, parts }: VirtualTable): void {
    const table = this.#connection.vectorTable(name);
    const sourceOf = (part: string): string | null => parts.get(`${name}_${part}`.toLowerCase()) ?? null;
    try {
      if (table !== undefined && parts.size > 0)
        insertVectors(this.#connection, table, sourceOf, (run) => this.#watch(false, run));
    } catch (error) {
      const { code, message } = toRefusal(error);
      throw new SqlRefusal(code, message.startsWith('the vectors of ') ? message : `${name}: ${message}`);
    }
    for (const held of parts.values())
      if (held.startsWith(ownTablePrefix)) this.#connection.ownScript(`DROP TABLE ${held}`);
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
      for (const row of this.#valuesOf(statement, words)) this.knowMigration(row);
      return;
    }
    if (verb === 'INSERT') this.leave(key);
    else if (!verb.startsWith('CREATE ')) this.#run(statement, false);
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
    for (const row of this.#valuesOf(statement, words)) {
      const [type, name, , , sql] = row;
      const isVirtual = type === 'table' && typeof name === 'string' && typeof sql === 'string';
      const made = isVirtual ? wordsOf(sql) : null;
      if (made === null || made.verb !== 'CREATE VIRTUAL TABLE' || made.name !== name)
        throw new SqlRefusal('SQLITE_AUTH', 'not authorized: only rows of virtual tables are imported from the schema');
      this.#makeVirtual({ sql: sql as string, parameters: 0, line: 1 }, made.name);
    }
  }

  #makeVirtual(statement: StatementText, name: string): void {
    // In a vacuumed database, shadow tables come first, like ordinary tables.
    const early = shadowSuffixes
      .map((suffix) => `${name}_${suffix}`)
      .filter((table) => this.#made.has(table.toLowerCase()));
    for (const table of early)
      this.#connection.ownScript(`ALTER TABLE ${quoted(table)} RENAME TO ${quoted(`${table}_imported`)}`);
    const virtual = this.makeVirtual(statement, name);
    for (const table of early) {
      const from = quoted(`${table}_imported`);
      if (virtual.shadows.includes(table)) {
        this.intoShadow(virtual, table.toLowerCase(), {
          sql: `INSERT INTO ${quoted(table)} SELECT * FROM ${from}`,
          parameters: 0,
          line: 1,
        });
        this.#connection.ownScript(`DROP TABLE ${from}`);
      } else this.#connection.ownScript(`ALTER TABLE ${from} RENAME TO ${quoted(table)}`);
    }
  }

  /** Creates an empty virtual table. */
  makeVirtual(statement: StatementText, name: string): VirtualTable {
    this.#run(statement, false);
    const module = unquoted(/\bUSING\s+("[^"]*"|`[^`]*`|\[[^\]]*\]|\w+)/i.exec(statement.sql)?.[1] ?? '').toLowerCase();
    const shadows = this.#connection
      .own('PRAGMA main.table_list')
      .filter(([, table, type]) =>
        module === 'vec0' ? partOf(name, String(table)) !== null : type === 'shadow' && isShadowOf(name, String(table)),
      )
      .map(([, table]) => String(table));
    const virtual: VirtualTable = { name, module, shadows, isCopied: false, parts: new Map() };
    this.#virtual.push(virtual);
    for (const table of shadows) this.#shadows.set(table.toLowerCase(), virtual);
    return virtual;
  }

  /** Fills a shadow table, by an INSERT. */
  intoShadow(
    virtual: VirtualTable,
    key: string,
    statement: StatementText,
    values: readonly (string | number | bigint)[] = [],
  ): void {
    if (!virtual.isCopied) {
      virtual.isCopied = true;
      for (const table of virtual.shadows) this.#connection.ownDefenceless(`DELETE FROM ${quoted(table)}`);
    }
    const table = virtual.shadows.find((one) => one.toLowerCase() === key) ?? key;
    this.#connection.intoShadow(table, () => this.#run(statement, values.length > 0, values));
  }

  /** Adds rows to a table, which may be a shadow table of a virtual table. */
  fill(table: string, sql: string, values: readonly bigint[]): void {
    const virtual = this.#shadows.get(table.toLowerCase());
    const statement = { sql, parameters: values.length, line: 1 };
    try {
      if (virtual === undefined) this.#run(statement, true, values);
      else this.intoShadow(virtual, table.toLowerCase(), statement, values);
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

  /** Whether a table is a shadow table of a virtual table that the import created. */
  isShadow(table: string): boolean {
    return this.#shadows.has(table.toLowerCase());
  }

  /** `DELETE FROM sqlite_sequence` of a dump: tables that it does not create keep their counters. */
  #forgetSequences(statement: StatementText, { restAt }: StatementWords): void {
    if (statement.sql.slice(restAt).trim() !== '') this.#run(statement, false);
    else
      for (const table of this.#made) this.#connection.own('DELETE FROM sqlite_sequence WHERE lower(name) = ?', table);
  }

  /** Runs a statement generated by the file reader. */
  run(sql: string, values: readonly (string | number | bigint)[] = [], isLong = true): void {
    this.#run({ sql, parameters: values.length, line: 1 }, isLong, values);
    this.#statements++;
  }

  /** Checks that need the complete import. @throws {SqlRefusal} */
  check(): void {
    for (const virtual of this.#virtual) if (virtual.module === 'vec0') this.#insertVectors(virtual);
    if (this.#virtual.some(({ isCopied }) => isCopied)) {
      // Reopened, so that the module reads its tables again instead of its cached state of the empty table.
      this.#connection.ownScript('PRAGMA writable_schema=RESET');
      for (const virtual of this.#virtual) if (virtual.isCopied) this.#watch(true, () => this.#checkVirtual(virtual));
    }
    this.#watch(true, () => this.#checkKeys());
  }

  /** Commits after the checks. @throws {SqlRefusal} the database is then unchanged. */
  commit(): Imported {
    this.#watch(true, () => this.#connection.own('COMMIT'));
    return { statements: this.#statements, leftOut: [...this.#leftOut] };
  }

  /** Imported bytes must be those that the module itself would write, because later readers trust them. */
  #checkVirtual({ name, module }: VirtualTable): void {
    const table = quoted(name);
    if (module !== 'fts5') {
      const found = this.#connection.own('SELECT rtreecheck(?, ?)', 'main', name)[0]?.[0];
      if (found !== 'ok') throw new SqlRefusal('SQLITE_CORRUPT', `the index ${name} is damaged: ${String(found)}`);
      return;
    }
    const command = (word: string): StatementText => ({
      sql: `INSERT INTO ${table}(${table}) VALUES('${word}')`,
      parameters: 0,
      line: 1,
    });
    try {
      this.#run(command('integrity-check'), true);
      return;
    } catch {
      // The index can be rebuilt if it stores the texts, or a table of the project does.
    }
    try {
      this.#run(command('rebuild'), true);
      this.#run(command('integrity-check'), true);
    } catch (error) {
      throw new SqlRefusal('SQLITE_CORRUPT', `the full-text index ${name} is damaged: ${(error as Error).message}`);
    }
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

function isShadowOf(name: string, table: string): boolean {
  return shadowSuffixes.some((suffix) => table.toLowerCase() === `${name}_${suffix}`.toLowerCase());
}

/** Whether a statement only concerns how a dump is run, not its content. */
export function isFraming({ verb, name }: StatementWords): boolean {
  return framing.has(verb) || (verb === 'PRAGMA' && settings.has(name.toLowerCase()));
}

/** Quotes a name for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

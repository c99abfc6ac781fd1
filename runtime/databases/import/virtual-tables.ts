// The virtual tables that an import created: finds the tables that belong to each, fills them, and checks that the
// result is what their module would have written. Called by import-transaction.ts and sqlite-file.ts.
import { fromWire, ownTablePrefix, SqlRefusal } from '#core/database-request.ts';
import type { Connection } from '../sqlite/connection.ts';
import type { StatementText } from '../sqlite/sql-text.ts';
import { toRefusal } from '../sqlite/sqlite-errors.ts';
import { quoted, unquoted } from './statement-words.ts';
import { insertVectors, partOf } from './vector-rows.ts';
import type { WatchedStatements } from './watched-statements.ts';

/** Suffixes of the shadow tables of each kind of virtual table, after its name and `_`. */
const SHADOW_SUFFIXES = ['data', 'idx', 'content', 'docsize', 'config', 'node', 'parent', 'rowid'];

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

export class VirtualTables {
  readonly #connection: Connection;
  readonly #statements: WatchedStatements;
  readonly #all: VirtualTable[] = [];
  /** The virtual tables, by the lower-case names of their shadow tables. */
  readonly #shadows = new Map<string, VirtualTable>();
  /** Number of the next temporary table for rows of a `vec0` table. */
  #held = 0;

  constructor(connection: Connection, statements: WatchedStatements) {
    this.#connection = connection;
    this.#statements = statements;
  }

  /** The virtual table that a table is a shadow table of. */
  ownerOf(table: string): VirtualTable | undefined {
    return this.#shadows.get(table.toLowerCase());
  }

  /** Creates a virtual table that a dump contains. @param made lower-case names of tables that the import created. */
  makeOfDump(statement: StatementText, name: string, made: ReadonlySet<string>): void {
    // In the dump of a vacuumed database, shadow tables come before their virtual table, like ordinary tables.
    const early = SHADOW_SUFFIXES.map((suffix) => `${name}_${suffix}`).filter((table) => made.has(table.toLowerCase()));
    for (const table of early)
      this.#connection.ownScript(`ALTER TABLE ${quoted(table)} RENAME TO ${quoted(`${table}_imported`)}`);
    const virtual = this.make(statement, name);
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
  make(statement: StatementText, name: string): VirtualTable {
    this.#statements.run(statement, false);
    const module = unquoted(/\bUSING\s+("[^"]*"|`[^`]*`|\[[^\]]*\]|\w+)/i.exec(statement.sql)?.[1] ?? '').toLowerCase();
    const shadows = this.#connection
      .own('PRAGMA main.table_list')
      .filter(([, table, type]) =>
        module === 'vec0' ? partOf(name, String(table)) !== null : type === 'shadow' && isShadowOf(name, String(table)),
      )
      .map(([, table]) => String(table));
    const virtual: VirtualTable = { name, module, shadows, isCopied: false, parts: new Map() };
    this.#all.push(virtual);
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
    this.#connection.intoShadow(table, () => this.#statements.run(statement, values.length > 0, values));
  }

  /** Stores rows of a part of a `vec0` table until the whole file is read. */
  holdRows(owner: VirtualTable, key: string, rows: readonly unknown[][]): void {
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
    const owner = this.ownerOf(table);
    if (owner?.module !== 'vec0') return false;
    owner.parts.set(table.toLowerCase(), source);
    return true;
  }

  /** Checks that need the complete import. @throws {SqlRefusal} */
  check(): void {
    const { watch } = this.#statements;
    for (const virtual of this.#all) if (virtual.module === 'vec0') this.#insertVectors(virtual);
    if (!this.#all.some(({ isCopied }) => isCopied)) return;
    // Reopened, so that the module reads its tables again instead of its cached state of the empty table.
    this.#connection.ownScript('PRAGMA writable_schema=RESET');
    for (const virtual of this.#all) if (virtual.isCopied) watch(true, () => this.#checkCopied(virtual));
  }

  #insertVectors({ name, parts }: VirtualTable): void {
    const table = this.#connection.vectorTable(name);
    const sourceOf = (part: string): string | null => parts.get(`${name}_${part}`.toLowerCase()) ?? null;
    try {
      if (table !== undefined && parts.size > 0)
        insertVectors(this.#connection, table, sourceOf, (run) => this.#statements.watch(false, run));
    } catch (error) {
      const { code, message } = toRefusal(error);
      throw new SqlRefusal(code, message.startsWith('the vectors of ') ? message : `${name}: ${message}`);
    }
    for (const held of parts.values())
      if (held.startsWith(ownTablePrefix)) this.#connection.ownScript(`DROP TABLE ${held}`);
  }

  /** Imported bytes must be those that the module itself would write, because later readers trust them. */
  #checkCopied({ name, module }: VirtualTable): void {
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
      this.#statements.run(command('integrity-check'), true);
      return;
    } catch {
      // The index can be rebuilt if the texts are stored in it, or in a table of the project.
    }
    try {
      this.#statements.run(command('rebuild'), true);
      this.#statements.run(command('integrity-check'), true);
    } catch (error) {
      throw new SqlRefusal('SQLITE_CORRUPT', `the full-text index ${name} is damaged: ${(error as Error).message}`);
    }
  }
}

function isShadowOf(name: string, table: string): boolean {
  return SHADOW_SUFFIXES.some((suffix) => table.toLowerCase() === `${name}_${suffix}`.toLowerCase());
}

// One fenced connection to a database file: compiles statements once, runs them within the limits, and writes results
// as JSON. Independent of requests, other transactions and processes. Called by database-file.ts.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { DatabaseLimits } from '#core/limits.ts';
import { fromWire, SqlRefusal, toWire, type StoredValue } from '#core/database-request.ts';
import { OWN_STATEMENT } from '#core/resource-call/databases.ts';
import { Fence } from './fence.ts';
import { limitedChange, refusesLimit, shapeOf, shapeSql } from './limited-changes.ts';
import { errorOffset, oneStatement, splitStatements, type StatementText } from './sql-text.ts';
import { resultCode, toRefusal } from './sqlite-errors.ts';
import { loadVectors } from './vector-module.ts';
import {
  checkVectors,
  explainMissing,
  explainVectors,
  vectorTablesIn,
  virtualTablesSql,
  type VectorTable,
} from './vector-tables.ts';

const STATEMENTS_KEPT = 200;
const PAGE_BYTES = 4096;
const BUSY_MS = 50;

/** A compiled statement. */
export interface Prepared {
  readonly statement: StatementSync;
  /** Column names as JSON. */
  columns: string;
  columnCount: number;
  readonly parameters: number;
  readonly writes: boolean;
  /** Changes the schema. */
  readonly schema: boolean;
  /** Creates, releases or rolls back to a savepoint; not cached, since only some requests may do so. */
  readonly savepoint: boolean;
  /** The `vec0` tables that it uses. */
  readonly vectors: readonly VectorTable[];
  /** Reads integers as bigints. */
  exact: boolean;
}

/** Options of opening a file. */
interface ConnectionOptions {
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

/** Added to the hex values of one row, for the longest statement of an imported file. */
const BULK_SQL_BYTES = 1_048_576;
/** How long a writer in a separate process waits for a transaction of another process. */
const BULK_BUSY_MS = 10_000;

/** Size limit for a statement of an imported file, in bytes. */
export function bulkStatementBytesMax(limits: DatabaseLimits): number {
  return Math.max(limits.statementBytesMax, 2 * limits.valueBytesMax + BULK_SQL_BYTES);
}

/** Result of one statement, without the parts of `meta` that the file adds. */
export interface StatementRun {
  /** `"c":[...],"r":[...]` */
  readonly json: string;
  readonly rowsRead: number;
  readonly changes: number;
  readonly lastRowId: number | bigint;
  readonly changed: boolean;
}

export class Connection {
  readonly #db: DatabaseSync;
  readonly #fence = new Fence();
  readonly #limits: DatabaseLimits;
  #statements = new Map<string, Prepared>();
  readonly #own = new Map<string, StatementSync>();
  readonly #pagesMax: number;
  #pages: number;
  /** Version of the schema whose `vec0` tables the fence has loaded. */
  #schemaVersion: unknown = null;

  /** @throws SQLite's error when the file is not a database. */
  constructor({ path, limits, synchronous, isBulk = false, vectorLibrary }: ConnectionOptions) {
    this.#limits = limits;
    this.#pagesMax = Math.ceil(limits.databaseBytesMax / PAGE_BYTES);
    this.#pages = this.#pagesMax;
    // Within this process there are no lock conflicts (database-file.ts); two dev servers of a workspace may have
    // them.
    this.#db = new DatabaseSync(path, {
      returnArrays: true,
      timeout: isBulk ? BULK_BUSY_MS : BUSY_MS,
      // Allowed only for the module loaded next.
      allowExtension: true,
      defensive: true,
      // As in D1: "x" is a text where no column has that name.
      enableDoubleQuotedStringLiterals: true,
      enableForeignKeyConstraints: !isBulk,
    });
    try {
      // Before the schema is read: SQLite asks a module which tables are its own.
      this.#fence.hasVectors = loadVectors(this.#db, vectorLibrary);
      Object.assign(this.#db.limits, {
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
      this.#db.exec(
        `PRAGMA journal_mode=WAL; PRAGMA synchronous=${synchronous}; PRAGMA wal_autocheckpoint=0; ${memory}` +
          `PRAGMA max_page_count=${this.#pagesMax}; PRAGMA journal_size_limit=16777216; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON`,
      );
      // A locked file is retried later (database-file.ts): SQLite's own wait would block other databases.
      if (!isBulk) this.#db.exec('PRAGMA busy_timeout=0');
      this.#db.setAuthorizer(this.#fence.authorize);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /**
   * Size limit of the file, never below its current size: an operation that needs more pages fails as on a full disk.
   * Set before each request, because only a change costs time.
   */
  set bytesMax(bytes: number) {
    const pages = Math.max(1, Math.min(this.#pagesMax, Math.floor(bytes / PAGE_BYTES)));
    if (pages === this.#pages) return;
    this.#pages = pages;
    this.ownScript(`PRAGMA max_page_count=${pages}`);
  }

  /** Allows or forbids savepoint statements. */
  set savepoints(allowed: boolean) {
    this.#fence.savepoints = allowed;
  }

  /** Hides the platform's tables from the tenant's SQL, which can read them by default. */
  set hidesOwnTables(hides: boolean) {
    this.#fence.hidesOwn = hides;
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Runs a statement of the platform; compiled once. */
  own(sql: string, ...values: StoredValue[]): unknown[][] {
    let statement = this.#own.get(sql);
    if (statement === undefined) {
      statement = this.#fence.own(() => this.#db.prepare(sql));
      this.#own.set(sql, statement);
    }
    // SQLite may recompile a statement while it runs, after a change of the schema.
    const compiled = statement;
    return this.#fence.own(() => compiled.all(...values)) as unknown as unknown[][];
  }

  /** Like {@link own}, for values as long as a chunk of vectors. */
  ownLarge(sql: string, ...values: StoredValue[]): unknown[][] {
    this.#db.limits.length = this.#limits.vectorChunkBytesMax;
    try {
      return this.own(sql, ...values);
    } finally {
      this.#db.limits.length = this.#limits.valueBytesMax;
    }
  }

  /** The `vec0` table of this name, or undefined. */
  vectorTable(name: string): VectorTable | undefined {
    this.#learnVectors();
    return this.#fence.vectorTables.get(name.toLowerCase());
  }

  /** Runs a script of the platform. */
  ownScript(sql: string): void {
    this.#fence.own(() => this.#db.exec(sql));
  }

  /** The statements of a text that has several, which are compiled one after the other; null if it has one. */
  several(sql: string): StatementText[] | null {
    // Statements of the platform around a text of the user, such as EXPLAIN, are one statement each.
    if (this.#statements.has(sql) || sql.startsWith(OWN_STATEMENT)) return null;
    this.#checkLength(sql);
    const statements = splitStatements(sql, this.#limits.execStatementsMax);
    return statements.length > 1 ? statements : null;
  }

  #checkLength(sql: string): void {
    const { statementBytesMax } = this.#limits;
    // A text has at least as many bytes as characters.
    const bytes = sql.length > statementBytesMax ? sql.length : Buffer.byteLength(sql);
    if (bytes <= statementBytesMax) return;
    throw new SqlRefusal(
      'SQLITE_TOOBIG',
      `statement too long: ${Buffer.byteLength(sql)} bytes, at most ${statementBytesMax} are allowed`,
    );
  }

  /** @throws {SqlRefusal} for SQL that does not compile, or is not allowed. */
  prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    this.#checkLength(sql);
    const prepared = this.compile(oneStatement(sql));
    if (prepared.savepoint) return prepared;
    if (this.#statements.size >= STATEMENTS_KEPT)
      this.#statements.delete(this.#statements.keys().next().value as string);
    this.#statements.set(sql, prepared);
    return prepared;
  }

  /** Compiles without caching. */
  compile({ sql, parameters }: StatementText): Prepared {
    return this.#explained(sql, () => {
      this.#learnVectors();
      try {
        return this.#compiled(sql, parameters);
      } catch (error) {
        const change = resultCode(error) === 1 && refusesLimit((error as Error).message) ? limitedChange(sql) : null;
        if (change === null) throw error;
        const shape = shapeOf(this.own(shapeSql, change.table));
        if (shape === null) throw new SqlRefusal('SQLITE_ERROR', `no such table: ${change.table}`);
        return this.#compiled(change.spellOut(shape), parameters);
      }
    });
  }

  #compiled(sql: string, parameters: number): Prepared {
    const { result: statement, ...effects } = this.#fence.watch(sql, () => this.#db.prepare(sql));
    const columns = statement.columns().map((column) => column.name);
    // Rows of a write cannot be read a second time, so its integers are exact from the start.
    const exact = effects.writes && columns.length > 0;
    if (exact) statement.setReadBigInts(true);
    return {
      statement,
      columns: JSON.stringify(columns),
      columnCount: columns.length,
      parameters,
      ...effects,
      exact,
    };
  }

  /** Another process may also have changed the schema. */
  #learnVectors(): void {
    const version = this.own('PRAGMA schema_version')[0]?.[0];
    if (version === this.#schemaVersion) return;
    this.#fence.vectorTables = vectorTablesIn(this.own(virtualTablesSql));
    this.#schemaVersion = version;
  }

  /** The result of `compile`. @throws {SqlRefusal} with the position of SQLite's error in the text. */
  #explained(sql: string, compile: () => Prepared): Prepared {
    try {
      return compile();
    } catch (error) {
      if (resultCode(error) !== 1) throw toRefusal(error);
      const { message } = error as Error;
      const offset = errorOffset(sql, message, (beginning) => this.#failsAlike(beginning, message));
      throw toRefusal(error, explainMissing(offset === -1 ? message : `${message} at offset ${offset}`));
    }
  }

  #failsAlike(beginning: string, message: string): boolean {
    try {
      this.#fence.watch(beginning, () => this.#db.prepare(beginning));
      return false;
    } catch (error) {
      return (error as Error).message === message;
    }
  }

  /**
   * Runs a statement; a read-only statement ends after `rowsMax` rows. @throws {SqlRefusal} and, for a damaged file,
   * SQLite's own error.
   */
  run(prepared: Prepared, wireValues: unknown, rowsMax = Infinity): StatementRun {
    const values = this.#values(prepared, wireValues);
    return this.#running(prepared, values, () => this.#execute(prepared, values, rowsMax));
  }

  #running<Result>({ vectors, writes }: Prepared, values: readonly StoredValue[], run: () => Result): Result {
    if (vectors.length === 0 && this.#fence.hasVectors) return this.#fence.running(run);
    checkVectors(vectors, values);
    const { valueBytesMax, vectorChunkBytesMax } = this.#limits;
    // sqlite-vec stores many vectors in one blob.
    if (vectors.length > 0) this.#db.limits.length = vectorChunkBytesMax;
    // Otherwise a partly refused row would stay in the transaction.
    const guarded = writes && vectors.length > 0 && this.inTransaction;
    if (guarded) this.own('SAVEPOINT platform_vectors');
    try {
      return this.#fence.running(run);
    } catch (error) {
      if (guarded && this.inTransaction) this.own('ROLLBACK TO platform_vectors');
      const code = resultCode(error);
      if (code !== 1 && code !== 18) throw error;
      throw toRefusal(error, explainVectors(explainMissing((error as Error).message), vectorChunkBytesMax));
    } finally {
      if (guarded && this.inTransaction) this.own('RELEASE platform_vectors');
      this.#db.limits.length = valueBytesMax;
    }
  }

  #execute(prepared: Prepared, values: readonly StoredValue[], rowsMax: number): StatementRun {
    if (prepared.columnCount > 0) {
      if (!prepared.exact) {
        try {
          return this.#rows(prepared, values, rowsMax);
        } catch (error) {
          if ((error as { code?: unknown }).code !== 'ERR_OUT_OF_RANGE') throw error;
          // An integer beyond 2^53: read again exactly, now and in the future.
          prepared.exact = true;
          prepared.statement.setReadBigInts(true);
        }
      }
      return this.#rows(prepared, values, prepared.writes ? Infinity : rowsMax);
    }
    if (!prepared.writes) {
      prepared.statement.run(...values);
      return { json: '"c":[],"r":[]', rowsRead: 0, changes: 0, lastRowId: 0, changed: false };
    }
    const before = this.#totalChanges();
    const { changes, lastInsertRowid } = prepared.statement.run(...values);
    // A change of the schema leaves SQLite's count of the previous statement.
    const changed = this.#totalChanges() !== before;
    return {
      json: '"c":[],"r":[]',
      rowsRead: 0,
      changes: changed ? Number(changes) : 0,
      lastRowId: lastInsertRowid,
      changed: changed || prepared.schema,
    };
  }

  #values(prepared: Prepared, wireValues: unknown): StoredValue[] {
    if (!Array.isArray(wireValues)) throw new SqlRefusal('SQLITE_MISUSE', 'the values of a statement must be a list');
    if (wireValues.length !== prepared.parameters) {
      const given = `the statement has ${prepared.parameters}, ${wireValues.length} given`;
      throw new SqlRefusal('SQLITE_ERROR', `Wrong number of parameter bindings for SQL query: ${given}`);
    }
    const values: StoredValue[] = [];
    for (const value of wireValues)
      values.push(typeof value === 'string' || typeof value === 'number' ? value : fromWire(value));
    return values;
  }

  #rows(prepared: Prepared, values: readonly StoredValue[], rowsMax: number): StatementRun {
    const { statement, writes } = prepared;
    let { columnCount } = prepared;
    const before = writes ? this.#totalChanges() : 0;
    const rows: unknown[][] = [];
    const bytesMax = this.#limits.resultBytesMax;
    let bytes = 0;
    for (const found of ended(statement.iterate(...values))) {
      const row = found as unknown as unknown[];
      if (row.length !== columnCount) columnCount = describe(prepared);
      for (let index = 0; index < columnCount; index++) {
        const value = row[index];
        if (typeof value === 'string') bytes += value.length;
        else if (typeof value === 'number') {
          if (!Number.isFinite(value) || Object.is(value, -0)) row[index] = toWire(value);
        } else if (value !== null) {
          if (typeof value === 'object') bytes += (value as Uint8Array).length;
          row[index] = toWire(value as StoredValue);
        }
      }
      bytes += 8 * columnCount;
      if (bytes > bytesMax)
        throw new SqlRefusal('SQLITE_TOOBIG', `the result exceeds DB_MAX_RESULT_BYTES (${bytesMax})`);
      rows.push(row);
      if (rows.length >= rowsMax) break;
    }
    const changed = writes && this.#totalChanges() !== before;
    const [changes, lastRowId] = changed ? (this.own('SELECT changes(), last_insert_rowid()')[0] as number[]) : [0, 0];
    return {
      json: `"c":${prepared.columns},"r":${JSON.stringify(rows)}`,
      rowsRead: rows.length,
      changes: changes as number,
      lastRowId: lastRowId as number,
      changed: changed || prepared.schema,
    };
  }

  #totalChanges(): unknown {
    return this.own('SELECT total_changes()')[0]?.[0];
  }

  /** Runs a statement for its changes and discards any rows. @throws as {@link run}. */
  change(prepared: Prepared, values: readonly StoredValue[] = []): void {
    const { statement, parameters } = prepared;
    if (parameters !== values.length)
      throw new SqlRefusal('SQLITE_ERROR', 'a statement of a file has its values in its text: `?` stands for none');
    this.#running(prepared, values, () => statement.run(...values));
  }

  /**
   * Lets `run` insert rows into a shadow table of a virtual table, which SQLite normally forbids, and into no other
   * table. This is for a copy of such a table, which {@link own} checks afterwards.
   */
  intoShadow<Result>(table: string, run: () => Result): Result {
    this.#db.enableDefensive(false);
    try {
      return this.#fence.inserting(table, run);
    } finally {
      this.#db.enableDefensive(true);
    }
  }

  /** Like {@link own}, also where SQLite normally forbids it. */
  ownDefenceless(sql: string): void {
    this.#db.enableDefensive(false);
    try {
      this.#fence.own(() => this.#db.exec(sql));
    } finally {
      this.#db.enableDefensive(true);
    }
  }

  /** Drops compiled statements: column names may differ after a change of the schema. */
  forget(): void {
    this.#statements = new Map();
  }

  get bytes(): number {
    return Number(this.own('PRAGMA page_count')[0]?.[0]) * PAGE_BYTES;
  }

  /** Bytes of the whole database. */
  serialize(): Uint8Array {
    return this.#db.serialize();
  }

  /** The connection itself, for the backup API. */
  get handle(): DatabaseSync {
    return this.#db;
  }

  close(): void {
    this.#db.close();
  }
}

/**
 * Iterates the rows of a statement and always finalizes it: a statement that fails halfway because of a lock would stay
 * open and prevent commits on its connection.
 */
function* ended<Row>(rows: Iterator<Row>): Generator<Row> {
  try {
    for (let next = rows.next(); next.done !== true; next = rows.next()) yield next.value;
  } finally {
    rows.return?.();
  }
}

/** Reads the columns again: another process changed the schema. */
function describe(prepared: Prepared): number {
  const columns = prepared.statement.columns().map((column) => column.name);
  prepared.columns = JSON.stringify(columns);
  prepared.columnCount = columns.length;
  return columns.length;
}

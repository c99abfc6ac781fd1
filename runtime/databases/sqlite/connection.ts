// One fenced connection to a database file: compiles statements (compiler.ts) and runs them within the limits
// (statement-run.ts). Independent of requests, other transactions and processes. Called by database-file.ts.
import type { DatabaseSync } from 'node:sqlite';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal, type StoredValue } from '#core/database-request.ts';
import { Compiler, type Prepared } from './compiler.ts';
import { openFenced, PAGE_BYTES, pagesMaxOf, type ConnectionOptions } from './connection-settings.ts';
import { Fence } from './fence.ts';
import { OwnStatements } from './own-statements.ts';
import type { StatementText } from './sql-text.ts';
import { resultCode, toRefusal } from './sqlite-errors.ts';
import { execute, valuesOf, type StatementRun } from './statement-run.ts';
import { checkVectors, explainMissing, explainVectors, type VectorTable } from './vector-tables.ts';

export class Connection {
  readonly #db: DatabaseSync;
  readonly #fence = new Fence();
  readonly #limits: DatabaseLimits;
  readonly #own: OwnStatements;
  readonly #compiler: Compiler;
  readonly #pagesMax: number;
  #pages: number;

  /** @throws SQLite's error when the file is not a database. */
  constructor(options: ConnectionOptions) {
    this.#limits = options.limits;
    this.#pagesMax = pagesMaxOf(options.limits);
    this.#pages = this.#pagesMax;
    this.#db = openFenced(options, this.#fence);
    this.#own = new OwnStatements(this.#db, this.#fence, options.limits);
    this.#compiler = new Compiler(this.#db, this.#fence, this.#own, options.limits);
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

  /** Whether the platform's tables are hidden from the tenant's SQL, which can read them by default. */
  set hidesOwnTables(hides: boolean) {
    this.#fence.hidesOwn = hides;
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Runs a statement of the platform; compiled once. */
  own(sql: string, ...values: StoredValue[]): unknown[][] {
    return this.#own.run(sql, ...values);
  }

  /** Like {@link own}, for values as long as a chunk of vectors. */
  ownLarge(sql: string, ...values: StoredValue[]): unknown[][] {
    return this.#own.runLarge(sql, ...values);
  }

  /** The `vec0` table of this name, or undefined. */
  vectorTable(name: string): VectorTable | undefined {
    this.#compiler.learnVectors();
    return this.#fence.vectorTables.get(name.toLowerCase());
  }

  /** Runs a script of the platform. */
  ownScript(sql: string): void {
    this.#own.script(sql);
  }

  /** Like {@link own}, but also runs statements that SQLite normally forbids. */
  ownDefenceless(sql: string): void {
    this.#own.scriptDefenceless(sql);
  }

  /**
   * Compiles a text with one statement; splits a text with several statements, which are compiled one after the other
   * later. @throws as {@link prepare}.
   */
  prepareOrSplit(sql: string): Prepared | StatementText[] {
    return this.#compiler.prepareOrSplit(sql);
  }

  /**
   * Compiles a statement once.
   *
   * @param statement the only statement of the text, if the text was already split.
   * @throws {SqlRefusal} for SQL that does not compile, or is not allowed.
   */
  prepare(sql: string, statement?: StatementText): Prepared {
    return this.#compiler.prepare(sql, statement);
  }

  /** Compiles without caching. @throws as {@link prepare}. */
  compile(statement: StatementText): Prepared {
    return this.#compiler.compile(statement);
  }

  /** Drops compiled statements: column names may differ after a change of the schema. */
  forget(): void {
    this.#compiler.forget();
  }

  /**
   * Runs a statement; a read-only statement ends after `rowsMax` rows. @throws {SqlRefusal} and, for a damaged file,
   * SQLite's own error.
   */
  run(prepared: Prepared, wireValues: unknown, rowsMax = Infinity): StatementRun {
    const values = valuesOf(prepared, wireValues);
    const { resultBytesMax } = this.#limits;
    return this.#running(prepared, values, () => execute(this.#own, prepared, values, rowsMax, resultBytesMax));
  }

  #running<Result>({ vectors, writes }: Prepared, values: readonly StoredValue[], run: () => Result): Result {
    if (vectors.length === 0 && this.#fence.hasVectors) return this.#fence.running(run);
    checkVectors(vectors, values);
    const { valueBytesMax, vectorChunkBytesMax } = this.#limits;
    // sqlite-vec stores many vectors in one blob.
    if (vectors.length > 0) this.#db.limits.length = vectorChunkBytesMax;
    // Without this savepoint, a partly refused row would stay in the transaction.
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

  get bytes(): number {
    return Number(this.own('PRAGMA page_count')[0]?.[0]) * PAGE_BYTES;
  }

  /** Bytes of the whole database. */
  serialize(): Uint8Array {
    return this.#db.serialize();
  }

  close(): void {
    this.#db.close();
  }
}

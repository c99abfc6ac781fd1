// Runs the SQL of requests on their connection (one statement, a batch, a script, the whole file), and computes the
// size and version for responses. Called by database-file.ts, which schedules them.
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal, type StoredValue, toWire } from '#core/database-request.ts';
import type { Prepared } from './compiler.ts';
import type { Connection } from './connection.ts';
import type { SlowStatements } from './slow-statements.ts';
import type { StatementRun } from './statement-run.ts';
import { checkOnlyLastHasParameters, splitStatements, type StatementText } from './sql-text.ts';
import { isCorruption, toRefusal } from './sqlite-errors.ts';

/** Dependencies. */
interface StatementsDeps {
  readonly limits: DatabaseLimits;
  /** Number of the process, for `meta.served_by`. */
  readonly shard: number;
  /** Size and version of the database when it is opened. */
  readonly bytes: number;
  readonly version: number;
  readonly slow: SlowStatements;
  /** Called when cached compiled statements must not be used any more. */
  schemaChanged(): void;
}

export class Statements {
  readonly #deps: StatementsDeps;
  #bytes: number;
  #version: number;

  constructor(deps: StatementsDeps) {
    this.#deps = deps;
    this.#bytes = deps.bytes;
    this.#version = deps.version;
  }

  /** Increases with every change. */
  get version(): number {
    return this.#version;
  }

  /** Last known size of the file. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A transaction was rolled back: restores the size before it. */
  undone(bytes: number): void {
    this.#bytes = bytes;
  }

  /** Runs one statement, or several in a transaction, with the result of the last one. */
  query(connection: Connection, [sql, values, rowsMax]: readonly unknown[]): string {
    const most = typeof rowsMax === 'number' && rowsMax >= 1 ? rowsMax : Infinity;
    const startedAt = performance.now();
    const prepared = connection.prepareOrSplit(textOf(sql));
    if (Array.isArray(prepared)) {
      const all = (): string => this.#together(connection, prepared, values);
      return connection.inTransaction ? this.#nested(connection, all) : this.#atomic(connection, all);
    }
    // Rows of RETURNING come after the change is made: only a transaction can undo it when there are too many.
    const guarded = prepared.writes && prepared.columnCount > 0 && !connection.inTransaction;
    const run = guarded
      ? this.#atomic(connection, () => connection.run(prepared, values))
      : connection.run(prepared, values, most);
    return this.#result(connection, prepared, run, startedAt, textOf(sql));
  }

  /** Runs statements, all or none. @param committing called before the commit. */
  batch(connection: Connection, statements: readonly unknown[], committing: () => void): string {
    const { batchStatementsMax, resultBytesMax } = this.#deps.limits;
    if (statements.length > batchStatementsMax) {
      throw new SqlRefusal('SQLITE_TOOBIG', `the batch exceeds ${batchStatementsMax} statements`);
    }
    let json = '';
    const all = (): void => {
      for (const statement of statements) {
        const startedAt = performance.now();
        if (!Array.isArray(statement)) throw new SqlRefusal('SQLITE_MISUSE', 'a statement must be SQL text and values');
        const [sql, values] = statement as unknown[];
        const text = textOf(sql);
        const prepared = connection.prepareOrSplit(text);
        if (json !== '') json += ',';
        json += Array.isArray(prepared)
          ? this.#together(connection, prepared, values)
          : this.#result(connection, prepared, connection.run(prepared, values), startedAt, text);
        if (json.length > resultBytesMax) {
          throw new SqlRefusal('SQLITE_TOOBIG', `the result exceeds DB_MAX_RESULT_BYTES (${resultBytesMax})`);
        }
      }
    };
    if (connection.inTransaction) this.#nested(connection, all);
    else this.#atomic(connection, all, committing);
    return `[${json}]`;
  }

  /**
   * Runs a script, each statement on its own.
   *
   * @param progress statements that are already applied: they are skipped, and the number grows with each statement.
   */
  exec(connection: Connection, [text]: readonly unknown[], progress: { applied: number }): string {
    const startedAt = performance.now();
    const { execBytesMax, execStatementsMax } = this.#deps.limits;
    const sql = textOf(text);
    const bytes = Buffer.byteLength(sql);
    if (bytes > execBytesMax) throw new SqlRefusal('SQLITE_TOOBIG', `the SQL text exceeds ${execBytesMax} bytes`);
    const statements = splitStatements(sql, execStatementsMax);
    for (const statement of statements.slice(progress.applied)) {
      const statementAt = performance.now();
      try {
        const prepared = connection.compile(statement);
        this.#result(connection, prepared, connection.run(prepared, []), statementAt, statement.sql);
        progress.applied++;
      } catch (error) {
        if (isCorruption(error)) throw error;
        const { code, message } = toRefusal(error);
        throw new SqlRefusal(code, message, [statement.line, statement.sql.slice(0, 200)]);
      }
    }
    return JSON.stringify({ n: statements.length, d: elapsed(startedAt) });
  }

  /** Runs the statements of one text in a transaction; the result is that of the last, with the changes of all. */
  #together(connection: Connection, statements: readonly StatementText[], values: unknown): string {
    checkOnlyLastHasParameters(statements);
    let json = '';
    let changes = 0;
    for (const [index, statement] of statements.entries()) {
      const startedAt = performance.now();
      const prepared = connection.compile(statement);
      if (prepared.savepoint)
        throw new SqlRefusal('SQLITE_ERROR', 'a savepoint must be a statement of its own, not one of several');
      const run = connection.run(prepared, index === statements.length - 1 ? values : []);
      changes += run.changes;
      json = this.#result(connection, prepared, { ...run, changes }, startedAt, statement.sql);
    }
    return json;
  }

  /** Returns the file's bytes. */
  dump(connection: Connection): Uint8Array {
    const { dumpBytesMax } = this.#deps.limits;
    // Read from the file, because an import changes it from another process.
    if (connection.bytes > dumpBytesMax)
      throw new SqlRefusal('SQLITE_TOOBIG', `the database exceeds ${dumpBytesMax} bytes`);
    return connection.serialize();
  }

  #result(connection: Connection, prepared: Prepared, run: StatementRun, startedAt: number, sql: string): string {
    const took = elapsed(startedAt);
    this.#deps.slow.note(sql, took, run.rowsRead);
    if (run.changed) this.touched(connection, prepared.schema);
    const last = toWire(run.lastRowId as StoredValue);
    const lastJson = typeof last === 'number' ? String(last) : JSON.stringify(last);
    const numbers = `${took},${run.rowsRead},${run.changes},${run.changes},${lastJson},${run.changed ? 1 : 0}`;
    return `{${run.json},"m":[${numbers},${this.#bytes},${this.#version},${this.#deps.shard}]}`;
  }

  /** Records a change made by a connection; `schema`: more than rows changed. */
  touched(connection: Connection, schema: boolean): void {
    this.#bytes = connection.bytes;
    this.#version = Math.max(this.#version + 1, Math.round(Date.now() * 1000));
    if (schema) this.#deps.schemaChanged();
  }

  #atomic<Result>(connection: Connection, run: () => Result, committing = (): void => {}): Result {
    connection.own('BEGIN');
    try {
      const result = run();
      committing();
      connection.own('COMMIT');
      return result;
    } catch (error) {
      if (connection.inTransaction) connection.own('ROLLBACK');
      connection.forget();
      throw error;
    }
  }

  #nested<Result>(connection: Connection, run: () => Result): Result {
    connection.own('SAVEPOINT platform_batch');
    try {
      const result = run();
      connection.own('RELEASE platform_batch');
      return result;
    } catch (error) {
      if (connection.inTransaction) {
        connection.own('ROLLBACK TO platform_batch');
        connection.own('RELEASE platform_batch');
      }
      throw error;
    }
  }
}

/** @throws {SqlRefusal} when a request has another type where SQL or a name belongs. */
export function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new SqlRefusal('SQLITE_MISUSE', 'SQL must be text');
  return value;
}

function elapsed(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000;
}

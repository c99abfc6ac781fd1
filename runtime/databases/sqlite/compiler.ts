// Compiles the SQL of requests on one connection, through the fence: each statement once. Errors contain the reason and
// the position. Called by connection.ts, which runs them.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { SqlRefusal } from '#core/database-request.ts';
import type { DatabaseLimits } from '#core/limits.ts';
import { OWN_STATEMENT } from '#core/resource-call/databases.ts';
import type { Fence } from './fence.ts';
import { limitedChange, refusesLimit, shapeOf, shapeSql } from './limited-changes.ts';
import type { OwnStatements } from './own-statements.ts';
import { errorOffset, oneStatement, onlyStatement, splitStatements, type StatementText } from './sql-text.ts';
import { resultCode, toRefusal } from './sqlite-errors.ts';
import { explainMissing, vectorTablesIn, virtualTablesSql, type VectorTable } from './vector-tables.ts';

const STATEMENTS_KEPT = 200;

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
  /** The `vec0` tables that the statement uses. */
  readonly vectors: readonly VectorTable[];
  /** Reads integers as bigints. */
  exact: boolean;
}

export class Compiler {
  readonly #db: DatabaseSync;
  readonly #fence: Fence;
  readonly #own: OwnStatements;
  readonly #limits: DatabaseLimits;
  #statements = new Map<string, Prepared>();
  /** Version of the schema whose `vec0` tables the fence has loaded. */
  #schemaVersion: unknown = null;

  constructor(db: DatabaseSync, fence: Fence, own: OwnStatements, limits: DatabaseLimits) {
    this.#db = db;
    this.#fence = fence;
    this.#own = own;
    this.#limits = limits;
  }

  /**
   * Compiles a text with one statement; splits a text with several statements, which are compiled one after the other
   * later. @throws as {@link prepare}.
   */
  prepareOrSplit(sql: string): Prepared | StatementText[] {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    this.#checkLength(sql);
    // The platform's statements that contain a text of the user, such as EXPLAIN, are always one statement.
    if (sql.startsWith(OWN_STATEMENT)) return this.#keep(sql, oneStatement(sql));
    const statements = splitStatements(sql, this.#limits.execStatementsMax);
    return statements.length > 1 ? statements : this.#keep(sql, onlyStatement(statements));
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

  /**
   * Compiles a statement once.
   *
   * @param statement the only statement of the text, if the text was already split.
   * @throws {SqlRefusal} for SQL that does not compile, or is not allowed.
   */
  prepare(sql: string, statement?: StatementText): Prepared {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    this.#checkLength(sql);
    return this.#keep(sql, statement ?? oneStatement(sql));
  }

  /** Compiles a statement, and caches it by its text. */
  #keep(sql: string, statement: StatementText): Prepared {
    const prepared = this.compile(statement);
    if (prepared.savepoint) return prepared;
    if (this.#statements.size >= STATEMENTS_KEPT)
      this.#statements.delete(this.#statements.keys().next().value as string);
    this.#statements.set(sql, prepared);
    return prepared;
  }

  /** Compiles without caching. */
  compile({ sql, parameters }: StatementText): Prepared {
    return this.#explained(sql, () => {
      this.learnVectors();
      try {
        return this.#compiled(sql, parameters);
      } catch (error) {
        const change = resultCode(error) === 1 && refusesLimit((error as Error).message) ? limitedChange(sql) : null;
        if (change === null) throw error;
        const shape = shapeOf(this.#own.run(shapeSql, change.table));
        if (shape === null) throw new SqlRefusal('SQLITE_ERROR', `no such table: ${change.table}`);
        return this.#compiled(change.spellOut(shape), parameters);
      }
    });
  }

  #compiled(sql: string, parameters: number): Prepared {
    const { result: statement, ...effects } = this.#fence.watch(sql, () => this.#db.prepare(sql));
    const columns = statement.columns().map((column) => column.name);
    // The rows that a write returns cannot be read a second time, so integers are read exactly from the start.
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

  /**
   * Passes the names of the `vec0` tables to the fence; reads the schema version, because another process may have
   * changed the schema.
   */
  learnVectors(): void {
    const version = this.#own.run('PRAGMA schema_version')[0]?.[0];
    if (version === this.#schemaVersion) return;
    this.#fence.vectorTables = vectorTablesIn(this.#own.run(virtualTablesSql));
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

  /** Drops compiled statements: column names may differ after a change of the schema. */
  forget(): void {
    this.#statements = new Map();
  }
}

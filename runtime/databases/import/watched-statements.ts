// Runs the statements of an import, each within the time limit of its kind. Called by import-transaction.ts and
// virtual-tables.ts.
import { SqlRefusal } from '#core/database-request.ts';
import type { Connection } from '../sqlite/connection.ts';
import type { StatementText } from '../sqlite/sql-text.ts';
import type { StatementWords } from './statement-words.ts';

/** Wraps operations that may take as long as the whole import: sorting an index, checking all keys. */
export type Watch = <Result>(isLong: boolean, run: () => Result) => Result;

export class WatchedStatements {
  readonly #connection: Connection;
  readonly watch: Watch;

  constructor(connection: Connection, watch: Watch) {
    this.#connection = connection;
    this.watch = watch;
  }

  /** Runs a statement for its changes. @throws {SqlRefusal} and SQLite's own errors. */
  run(statement: StatementText, isLong: boolean, values: readonly (string | number | bigint)[] = []): void {
    this.watch(isLong, () => this.#connection.change(this.#connection.compile(statement), values));
  }

  /** The rows of `VALUES ...` at the end of an INSERT. */
  rowsOf({ sql }: StatementText, { restAt }: StatementWords): unknown[][] {
    const at = /\bVALUES\b/i.exec(sql.slice(restAt))?.index;
    if (at === undefined)
      throw new SqlRefusal('SQLITE_ERROR', 'rows of this table are only imported from VALUES (...)');
    const values = { sql: sql.slice(restAt + at), parameters: 0, line: 1 };
    const { json } = this.watch(false, () => this.#connection.run(this.#connection.compile(values), []));
    return (JSON.parse(`{${json}}`) as { r: unknown[][] }).r;
  }
}

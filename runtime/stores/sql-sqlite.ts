// `Sql` over one SQLite file, for `platform dev`, with the same tables as in Postgres. One statement or transaction
// runs at a time.
import type Database from 'better-sqlite3';
import type { Sql, SqlValue } from './sql.ts';
import { migrateSqliteFile, openSqliteFile } from './sqlite-file.ts';

/** The tables of bindings in a file. */
interface SqliteSql extends Sql {
  readonly technology: 'sqlite';
  close(): Promise<void>;
}

/** Opens the file, and creates it with these tables if necessary. `:memory:` stores nothing. */
export function openSqliteSql(file: string, tables: readonly string[]): SqliteSql {
  const db = openSqliteFile(file);
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('case_sensitive_like = ON');
  migrateSqliteFile(db, tables);
  const prepared = new Map<string, Database.Statement>();
  let busy: Promise<void> | null = null;

  function run<Row>(text: string, parameters: readonly SqlValue[]): Row[] {
    let statement = prepared.get(text);
    if (statement === undefined) prepared.set(text, (statement = db.prepare(text)));
    const named: Record<string, SqlValue> = {};
    for (const [index, value] of parameters.entries()) named[index + 1] = value;
    if (statement.reader) return statement.all(named) as Row[];
    statement.run(named);
    return [];
  }

  /** `Sql` inside a transaction, in which no other statement runs. */
  const inside: Sql = {
    technology: 'sqlite',
    lock: '',
    all: async (text, ...parameters) => run(text, parameters),
    asyncCommit: async (text, ...parameters) => run(text, parameters),
    transaction: (work) => work(inside),
  };

  async function transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    while (busy !== null) await busy;
    let free!: () => void;
    busy = new Promise((resolve) => (free = resolve));
    try {
      db.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(inside);
        db.exec('COMMIT');
        return result;
      } catch (error) {
        if (db.inTransaction) db.exec('ROLLBACK');
        throw error;
      }
    } finally {
      busy = null;
      free();
    }
  }

  async function all<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]> {
    while (busy !== null) await busy;
    return run(text, parameters);
  }

  return {
    ...inside,
    technology: 'sqlite',
    transaction,
    all,
    asyncCommit: all,
    async close() {
      while (busy !== null) await busy;
      db.close();
    },
  };
}

// Operations on databases: tables and rows, statements, migrations, copies.
import type { Nothing } from './arguments.ts';

/** A column of a table. */
export interface TableColumn {
  readonly name: string;
  /** The declared type; empty if there is none. */
  readonly type: string;
  readonly notNull: boolean;
  /** Position in the primary key, from 1; 0 if it is not part of the key. */
  readonly primaryKey: number;
}

/** A table or a view, and the statement that created it. */
export interface DescribedTable {
  readonly name: string;
  readonly type: 'table' | 'view';
  readonly sql: string;
  readonly columns: readonly TableColumn[];
}

/** Cost and effects of a statement. */
interface StatementMeta {
  readonly durationMs: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly changes: number;
}

/** Prefix of the dashboard's own statements, which are not reported as slow statements of the app. */
export const OWN_STATEMENT = '/* platform */ ';

/** A slow statement, with all its runs since the database was last opened. */
export interface SlowStatement {
  readonly sql: string;
  readonly count: number;
  readonly msTotal: number;
  readonly msMax: number;
  /** Of all runs. */
  readonly rowsRead: number;
  /** Milliseconds since 1970. */
  readonly lastAt: number;
}

/** A named copy of a database. */
interface DatabaseCopy {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

/** Progress of an import. */
interface ImportProgress {
  /** `unknown` means that the import was never started, or the database service was restarted since. */
  readonly state: 'unknown' | 'running' | 'done' | 'failed';
  readonly statements: number;
  /** From 0 to 1, approximately. */
  readonly part: number;
  /** Reason of the failure; the data is then unchanged. */
  readonly reason: string | null;
  /** Data that was not imported. */
  readonly leftOut: readonly string[];
}

/** Operations on a database. */
export interface DatabaseOperations {
  /** `bytes` is the size of the database; 0 if it is not known. */
  readonly 'db.tables': {
    readonly takes: Nothing;
    readonly gives: { readonly tables: readonly DescribedTable[]; readonly bytes: number };
  };
  /**
   * A page of a table's rows. A value of more than 1000 bytes is truncated: `{cut: bytes, t: text}` or `{cut: bytes,
   * b: base64}`.
   */
  readonly 'db.rows': {
    readonly takes: {
      readonly table: string;
      readonly limit?: number | undefined;
      readonly offset?: number | undefined;
      readonly order?: string | undefined;
      readonly descending?: boolean | undefined;
      /** Only rows whose column contains `search` are returned. */
      readonly column?: string | undefined;
      readonly search?: string | undefined;
    };
    readonly gives: {
      readonly table: DescribedTable;
      readonly total: number;
      /** Columns that identify a row: the primary key, or `rowid`; empty if rows have no key. */
      readonly key: readonly string[];
      /** The values of `key` for each row. */
      readonly keys: readonly (readonly unknown[])[];
      readonly rows: readonly (readonly unknown[])[];
    };
  };
  /** Returns one value, not truncated. */
  readonly 'db.cell': {
    readonly takes: { readonly table: string; readonly column: string; readonly key: readonly unknown[] };
    readonly gives: { readonly value: unknown };
  };
  /** Runs one statement; rows beyond 1000 are omitted (`truncated`). Blobs are `{b: base64}`, large integers `{i}`. */
  readonly 'db.query': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] | undefined };
    readonly gives: {
      readonly columns: readonly string[];
      readonly rows: readonly (readonly unknown[])[];
      readonly truncated: boolean;
      readonly meta: StatementMeta;
    };
  };
  /** The query plan of a statement, without running it. */
  readonly 'db.explain': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] | undefined };
    readonly gives: {
      readonly plan: readonly { readonly id: number; readonly parent: number; readonly detail: string }[];
    };
  };
  readonly 'db.slow': { readonly takes: Nothing; readonly gives: { readonly statements: readonly SlowStatement[] } };
  /** Runs any number of statements in one transaction. */
  readonly 'db.script': {
    readonly takes: { readonly sql: string };
    readonly gives: { readonly count: number; readonly durationMs: number };
  };
  /**
   * Starts to import `file`, SQL or a SQLite file in the data folder, into the database atomically; with `replace`,
   * existing content is deleted first. `id` identifies the import: a started import is not started again. Waits briefly
   * for the end of the import.
   */
  readonly 'db.import': {
    readonly takes: { readonly id: string; readonly file: string; readonly replace?: boolean | undefined };
    readonly gives: ImportProgress;
  };
  /**
   * Returns the progress of an import; with `wait`, responds at its end, or after a moment. `cancel` ends the import
   * without changes.
   */
  readonly 'db.import-state': {
    readonly takes: {
      readonly id: string;
      readonly wait?: boolean | undefined;
      readonly cancel?: boolean | undefined;
    };
    readonly gives: ImportProgress;
  };
  /** Names of applied migrations, and of the deployment's pending migrations. */
  readonly 'db.migrations': {
    readonly takes: Nothing;
    readonly gives: { readonly applied: readonly string[]; readonly pending: readonly string[] };
  };
  /** Applies pending migrations. */
  readonly 'db.migrate': { readonly takes: Nothing; readonly gives: { readonly applied: readonly string[] } };
  /**
   * Writes a consistent copy as a SQLite file to `file`, an absolute path in the data folder that does not exist yet.
   */
  readonly 'db.copy': { readonly takes: { readonly file: string }; readonly gives: { readonly bytes: number } };
  /**
   * Lists the copies that are stored with the database: copies of releases, and manual copies. Only for databases of
   * production.
   */
  readonly 'db.copies': {
    readonly takes: Nothing;
    readonly gives: { readonly copies: readonly DatabaseCopy[]; readonly bytes: number; readonly copiesMax: number };
  };
  readonly 'db.make-copy': {
    readonly takes: Nothing;
    readonly gives: { readonly copy: DatabaseCopy; readonly dropped: readonly string[] };
  };
  /** Replaces the database with a copy; `before` is the copy of the replaced database. */
  readonly 'db.restore': { readonly takes: { readonly name: string }; readonly gives: { readonly before: string } };
  /**
   * Returns the range of times that can be restored, in milliseconds since 1970; null means that none can be restored,
   * for the given `reason`. Only for databases of production.
   */
  readonly 'db.moments': {
    readonly takes: Nothing;
    readonly gives: {
      readonly range: { readonly oldest: number; readonly newest: number } | null;
      readonly reason: string | null;
    };
  };
  /**
   * Restores the state of a moment into a copy. With `inPlace`, this also replaces the database, and `before` is a copy
   * of the replaced database.
   */
  readonly 'db.restore-at': {
    readonly takes: { readonly at: number; readonly inPlace?: boolean | undefined };
    readonly gives: {
      readonly copy: DatabaseCopy;
      /** Time of the latest change in the copy. */
      readonly changedAt: number;
      readonly before: string | null;
    };
  };
  readonly 'db.drop-copy': { readonly takes: { readonly name: string }; readonly gives: Nothing };
}

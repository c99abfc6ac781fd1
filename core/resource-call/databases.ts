// What databases are asked: tables and rows, statements, migrations, copies.
import type { Nothing } from './arguments.ts';

/** A column of a table. */
export interface TableColumn {
  readonly name: string;
  /** As declared; empty where nothing is. */
  readonly type: string;
  readonly notNull: boolean;
  /** Place in the primary key, from 1; 0: it is not part of it. */
  readonly primaryKey: number;
}

/** A table or a view, and the statement that made it. */
export interface DescribedTable {
  readonly name: string;
  readonly type: 'table' | 'view';
  readonly sql: string;
  readonly columns: readonly TableColumn[];
}

/** What a statement took and did. */
export interface StatementMeta {
  readonly durationMs: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly changes: number;
}

/** What begins a statement of the dashboard's own, which is none that its app is slow by. */
export const OWN_STATEMENT = '/* platform */ ';

/** A statement that took long, with all its runs since the database was opened last. */
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

/** A copy of a database under a name. */
export interface DatabaseCopy {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
}

/** How far an import is. */
export interface ImportProgress {
  /** `unknown`: it was never begun, or the database service was started since. */
  readonly state: 'unknown' | 'running' | 'done' | 'failed';
  readonly statements: number;
  /** From 0 to 1, about. */
  readonly part: number;
  /** Why it failed; nothing was changed then. */
  readonly reason: string | null;
  /** What was not taken over. */
  readonly leftOut: readonly string[];
}

/** Of a database. */
export interface DatabaseOperations {
  readonly 'db.tables': { readonly takes: Nothing; readonly gives: { readonly tables: readonly DescribedTable[] } };
  /**
   * A page of a table's rows. A value of more than 1000 bytes comes as its beginning: `{cut: bytes, t: text}` or
   * `{cut: bytes, b: base64}`.
   */
  readonly 'db.rows': {
    readonly takes: {
      readonly table: string;
      readonly limit?: number | undefined;
      readonly offset?: number | undefined;
      readonly order?: string | undefined;
      readonly descending?: boolean | undefined;
      /** Rows of which this column contains `search`. */
      readonly column?: string | undefined;
      readonly search?: string | undefined;
    };
    readonly gives: {
      readonly table: DescribedTable;
      readonly total: number;
      /** Columns that name one row: the primary key, or `rowid`; empty where rows have no name. */
      readonly key: readonly string[];
      /** Of each row, values of `key`. */
      readonly keys: readonly (readonly unknown[])[];
      readonly rows: readonly (readonly unknown[])[];
    };
  };
  /** One value, whole. */
  readonly 'db.cell': {
    readonly takes: { readonly table: string; readonly column: string; readonly key: readonly unknown[] };
    readonly gives: { readonly value: unknown };
  };
  /** One statement; rows beyond 1000 are left out (`truncated`). Blobs are `{b: base64}`, large integers `{i}`. */
  readonly 'db.query': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] | undefined };
    readonly gives: {
      readonly columns: readonly string[];
      readonly rows: readonly (readonly unknown[])[];
      readonly truncated: boolean;
      readonly meta: StatementMeta;
    };
  };
  /** How a statement would be run, without running it. */
  readonly 'db.explain': {
    readonly takes: { readonly sql: string; readonly params?: readonly unknown[] | undefined };
    readonly gives: {
      readonly plan: readonly { readonly id: number; readonly parent: number; readonly detail: string }[];
    };
  };
  readonly 'db.slow': { readonly takes: Nothing; readonly gives: { readonly statements: readonly SlowStatement[] } };
  /** Any number of statements, in one transaction. */
  readonly 'db.script': {
    readonly takes: { readonly sql: string };
    readonly gives: { readonly count: number; readonly durationMs: number };
  };
  /**
   * Begins to put `file`, SQL or a SQLite file in the data folder, into the database, all or nothing; with `replace`
   * what is there goes first. `id` names the import: one that was begun is not begun again. Waits a moment for its end.
   */
  readonly 'db.import': {
    readonly takes: { readonly id: string; readonly file: string; readonly replace?: boolean | undefined };
    readonly gives: ImportProgress;
  };
  /** How far an import is; `wait`: at its end, or in a moment. `cancel` ends it, and nothing was changed then. */
  readonly 'db.import-state': {
    readonly takes: {
      readonly id: string;
      readonly wait?: boolean | undefined;
      readonly cancel?: boolean | undefined;
    };
    readonly gives: ImportProgress;
  };
  /** Names of migrations that were applied, and of those that the deployment has beyond them. */
  readonly 'db.migrations': {
    readonly takes: Nothing;
    readonly gives: { readonly applied: readonly string[]; readonly pending: readonly string[] };
  };
  /** Applies what is pending. */
  readonly 'db.migrate': { readonly takes: Nothing; readonly gives: { readonly applied: readonly string[] } };
  /** A consistent copy as a SQLite file, at `file`: an absolute path in the data folder that does not exist yet. */
  readonly 'db.copy': { readonly takes: { readonly file: string }; readonly gives: { readonly bytes: number } };
  /** Copies that are kept with the database: those of releases, and those that somebody made. Production's only. */
  readonly 'db.copies': {
    readonly takes: Nothing;
    readonly gives: { readonly copies: readonly DatabaseCopy[]; readonly bytes: number; readonly copiesMax: number };
  };
  readonly 'db.make-copy': {
    readonly takes: Nothing;
    readonly gives: { readonly copy: DatabaseCopy; readonly dropped: readonly string[] };
  };
  /** Puts a copy in the place of the database; `before` is the copy of what it replaced. */
  readonly 'db.restore': { readonly takes: { readonly name: string }; readonly gives: { readonly before: string } };
  readonly 'db.drop-copy': { readonly takes: { readonly name: string }; readonly gives: Nothing };
}

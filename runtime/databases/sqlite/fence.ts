// Limits the SQL of a tenant: SQLite calls this authorizer for every action while it compiles a statement, including
// actions inside a view, a trigger or a virtual table. Everything not listed here is refused.
import { constants as sqlite } from 'node:sqlite';
import { ownTablePrefix, SqlRefusal } from '#core/database-request.ts';
import { resultCode } from './sqlite-errors.ts';
import { isOfVectors, namesVectors, type VectorTable } from './vector-tables.ts';

/** Modules of virtual tables that may be created. */
const modules = new Set(['fts5', 'fts5vocab', 'rtree', 'rtree_i32', 'geopoly', 'vec0']);

/** Functions that reach outside the database, or return addresses. */
const forbiddenFunctions = new Set(['load_extension', 'fts3_tokenizer', 'fts5', 'readfile', 'writefile', 'edit']);

/** PRAGMAs that only read, and their tables `pragma_*`. The value says whether an argument is allowed. */
const pragmas: Readonly<Record<string, 'bare' | 'any'>> = {
  table_list: 'any',
  table_info: 'any',
  table_xinfo: 'any',
  index_list: 'any',
  index_info: 'any',
  index_xinfo: 'any',
  foreign_key_list: 'any',
  foreign_key_check: 'any',
  quick_check: 'any',
  integrity_check: 'any',
  // Settings of one transaction, or of the file.
  defer_foreign_keys: 'any',
  user_version: 'any',
  application_id: 'any',
  optimize: 'any',
  // Read-only values.
  foreign_keys: 'bare',
  encoding: 'bare',
  page_count: 'bare',
  page_size: 'bare',
  freelist_count: 'bare',
  data_version: 'bare',
  schema_version: 'bare',
  journal_mode: 'bare',
  max_page_count: 'bare',
  collation_list: 'bare',
  function_list: 'bare',
  module_list: 'bare',
  pragma_list: 'bare',
  compile_options: 'bare',
};

/** Settings in scripts of other tools, which are ignored here: foreign keys are always checked. */
const ignoredPragmas = new Set(['foreign_keys']);

const reads = new Set<number>([sqlite.SQLITE_SELECT, sqlite.SQLITE_READ, sqlite.SQLITE_RECURSIVE]);
const rowChanges = new Set<number>([sqlite.SQLITE_INSERT, sqlite.SQLITE_UPDATE, sqlite.SQLITE_DELETE]);
const schemaChanges = new Set<number>([
  sqlite.SQLITE_CREATE_INDEX,
  sqlite.SQLITE_CREATE_TABLE,
  sqlite.SQLITE_CREATE_TRIGGER,
  sqlite.SQLITE_CREATE_VIEW,
  sqlite.SQLITE_DROP_INDEX,
  sqlite.SQLITE_DROP_TABLE,
  sqlite.SQLITE_DROP_TRIGGER,
  sqlite.SQLITE_DROP_VIEW,
  sqlite.SQLITE_ALTER_TABLE,
  sqlite.SQLITE_REINDEX,
  sqlite.SQLITE_ANALYZE,
  sqlite.SQLITE_CREATE_VTABLE,
  sqlite.SQLITE_DROP_VTABLE,
]);
const temporary = new Set<number>([
  sqlite.SQLITE_CREATE_TEMP_INDEX,
  sqlite.SQLITE_CREATE_TEMP_TABLE,
  sqlite.SQLITE_CREATE_TEMP_TRIGGER,
  sqlite.SQLITE_CREATE_TEMP_VIEW,
  sqlite.SQLITE_DROP_TEMP_INDEX,
  sqlite.SQLITE_DROP_TEMP_TABLE,
  sqlite.SQLITE_DROP_TEMP_TRIGGER,
  sqlite.SQLITE_DROP_TEMP_VIEW,
]);

/** These settings would persist into later requests. */
const noTemporary = 'temporary tables, indexes, triggers and views are not available';

const ofVectors = 'tables *_vector_chunks00 belong to their `vec0` table';

const belongs = `tables ${ownTablePrefix}* belong to the platform`;

const none: readonly VectorTable[] = [];

/** These settings change no content. */
const maintenance = new Set<number>([sqlite.SQLITE_ANALYZE, sqlite.SQLITE_REINDEX]);

function isOwn(name: string): boolean {
  return name.toLowerCase().startsWith(ownTablePrefix);
}

/** The authorizer of one connection. */
export class Fence {
  /** True while the platform's own statements are compiled. */
  #open = false;
  /** Whether savepoint statements are allowed. */
  savepoints = false;
  /** Whether the platform's tables may not be read either. */
  hidesOwn = false;
  #writes = false;
  #schema = false;
  #alters = false;
  #savepoint = false;
  #refusal = '';
  /** The only table that may be changed; null means any. */
  #only: string | null = null;
  /**
   * True while a compiled statement runs: SQL that is compiled in that time belongs to the module of a virtual table.
   */
  #runs = false;
  /** Whether SQLite has loaded the module `vec0`, so that it knows which tables belong to the module. */
  hasVectors = true;
  /** The `vec0` tables of the database, by their names in lower case. */
  vectorTables: ReadonlyMap<string, VectorTable> = new Map();
  /** The `vec0` tables that the statement uses. */
  #vectors = new Set<VectorTable>();

  /** For `setAuthorizer`. */
  readonly authorize = (
    action: number,
    first: string | null,
    second: string | null,
    schema: string | null,
    hidden: string | null,
  ): number => {
    if (this.vectorTables.size > 0 && first !== null) this.#noteVectors(first);
    if (reads.has(action)) {
      if (this.hidesOwn && !this.#open && action === sqlite.SQLITE_READ && isOwn(first ?? ''))
        return this.#refuse(belongs);
      return sqlite.SQLITE_OK;
    }
    if (rowChanges.has(action)) this.#writes = true;
    else if (schemaChanges.has(action)) this.#writes = this.#schema = true;
    if (action === sqlite.SQLITE_ALTER_TABLE) this.#alters = true;
    if (this.#open) return sqlite.SQLITE_OK;
    // `CREATE TABLE temp.x` has no separate action code.
    if (schema === 'temp' && schemaChanges.has(action)) return this.#refuse(noTemporary);
    return this.#tenant(action, first ?? '', second, hidden);
  };

  #isOfVectors(name: string): boolean {
    if (isOfVectors(name)) return true;
    // This machine does not have the module, but a machine that has it will trust these tables.
    return (
      !this.hasVectors && [...this.vectorTables.keys()].some((table) => name.toLowerCase().startsWith(`${table}_`))
    );
  }

  #noteVectors(name: string): void {
    const table = this.vectorTables.get(name.toLowerCase());
    if (table !== undefined) this.#vectors.add(table);
  }

  /** Compiles a statement of the platform, without restrictions. */
  own<Result>(compile: () => Result): Result {
    this.#open = true;
    try {
      return compile();
    } finally {
      this.#open = false;
    }
  }

  /** Statements compiled by `run` may insert into one table, and change nothing else. */
  inserting<Result>(table: string, run: () => Result): Result {
    this.#only = table;
    try {
      return run();
    } finally {
      this.#only = null;
    }
  }

  /**
   * The effects of the statement `sql`, compiled by `compile`. @throws as `compile`, and {@link SqlRefusal} with the
   * reason of a refusal.
   */
  watch<Result>(
    sql: string,
    compile: () => Result,
  ): {
    readonly result: Result;
    readonly writes: boolean;
    readonly schema: boolean;
    readonly savepoint: boolean;
    /** The `vec0` tables that the compiled statement uses. */
    readonly vectors: readonly VectorTable[];
  } {
    this.#writes = this.#schema = this.#alters = this.#savepoint = false;
    this.#vectors.clear();
    const result = this.explain(compile);
    // Authorizers do not see the new name in RENAME TO, but the text contains it.
    if (this.#alters && sql.toLowerCase().includes(ownTablePrefix))
      throw new SqlRefusal('SQLITE_AUTH', `not authorized: ${belongs}`);
    if (this.#alters && namesVectors(sql)) throw new SqlRefusal('SQLITE_AUTH', `not authorized: ${ofVectors}`);
    const vectors = this.#vectors.size === 0 ? none : [...this.#vectors];
    return { result, writes: this.#writes, schema: this.#schema, savepoint: this.#savepoint, vectors };
  }

  /** Runs a compiled statement. @throws as {@link explain}. */
  running<Result>(run: () => Result): Result {
    this.#runs = true;
    try {
      return this.explain(run);
    } finally {
      this.#runs = false;
    }
  }

  /**
   * Runs a statement, and explains refusals that only happen while it runs. @throws as `run`, and {@link SqlRefusal}
   * with the reason of a refusal.
   */
  explain<Result>(run: () => Result): Result {
    this.#refusal = '';
    try {
      return run();
    } catch (error) {
      // If a function is refused, SQLite reports its general error code.
      const isRefused =
        resultCode(error) === 23 || (this.#refusal !== '' && (error as Error).message.startsWith('not authorized'));
      if (!isRefused) throw error;
      throw new SqlRefusal('SQLITE_AUTH', this.#refusal === '' ? 'not authorized' : `not authorized: ${this.#refusal}`);
    }
  }

  #tenant(action: number, first: string, second: string | null, hidden: string | null): number {
    if (rowChanges.has(action) || schemaChanges.has(action)) {
      // SQLite protects the other tables of a module itself. A trigger that is compiled during a run still belongs to
      // the tenant.
      const isModule = this.#runs && (hidden ?? '') === '';
      if (!isModule && (this.#isOfVectors(first) || this.#isOfVectors(second ?? ''))) return this.#refuse(ofVectors);
      if (action === sqlite.SQLITE_ALTER_TABLE && this.vectorTables.has((second ?? '').toLowerCase()))
        return this.#refuse('a `vec0` table cannot be altered: create another one, and copy its rows');
      if (this.#only !== null && (action !== sqlite.SQLITE_INSERT || first !== this.#only))
        return this.#refuse(`only ${this.#only} may be written to here`);
      // Depending on the action, the table is the first or the second name.
      if (!maintenance.has(action) && (isOwn(first) || isOwn(second ?? ''))) return this.#refuse(belongs);
      if (action === sqlite.SQLITE_CREATE_VTABLE && !modules.has((second ?? '').toLowerCase()))
        return this.#refuse(`virtual tables of ${second ?? ''} cannot be created`);
      return sqlite.SQLITE_OK;
    }
    if (action === sqlite.SQLITE_FUNCTION) {
      const name = (second ?? '').toLowerCase();
      return forbiddenFunctions.has(name) ? this.#refuse(`the function ${name} is not available`) : sqlite.SQLITE_OK;
    }
    if (action === sqlite.SQLITE_PRAGMA) return this.#pragma(first.toLowerCase(), second);
    if (action === sqlite.SQLITE_SAVEPOINT && this.savepoints) {
      this.#savepoint = true;
      // A rollback may undo any change.
      if (first === 'ROLLBACK') this.#writes = this.#schema = true;
      return sqlite.SQLITE_OK;
    }
    if (action === sqlite.SQLITE_TRANSACTION || action === sqlite.SQLITE_SAVEPOINT)
      return this.#refuse('use batch() or transaction() instead of BEGIN, COMMIT, ROLLBACK and SAVEPOINT');
    if (action === sqlite.SQLITE_ATTACH || action === sqlite.SQLITE_DETACH)
      return this.#refuse('ATTACH, DETACH and VACUUM are not available');
    if (temporary.has(action)) return this.#refuse(noTemporary);
    return this.#refuse('this statement is not available');
  }

  #pragma(name: string, argument: string | null): number {
    const rule = Object.hasOwn(pragmas, name) ? pragmas[name] : undefined;
    if (rule === undefined) return this.#refuse(`PRAGMA ${name} is not available`);
    if (rule === 'any' || argument === null) {
      if (argument !== null && (name === 'user_version' || name === 'application_id' || name === 'optimize'))
        this.#writes = true;
      return sqlite.SQLITE_OK;
    }
    return ignoredPragmas.has(name) ? sqlite.SQLITE_IGNORE : this.#refuse(`PRAGMA ${name} cannot be set`);
  }

  #refuse(reason: string): number {
    this.#refusal = reason;
    return sqlite.SQLITE_DENY;
  }
}

// `Sql` over pools of Postgres connections: one for single statements, one for statements that do not wait for the
// disk, and one for transactions, so that no statement waits for the locks of another kind. Opened by the main modules
// and passed to the stores.
import { PlatformError } from '#core/errors.ts';
import { openPostgres, type PostgresValue, type Statements } from '#postgres/connection.ts';
import { isConnectionError, sqlState } from '#postgres/postgres-error.ts';
import type { Sql, SqlValue } from './sql.ts';

/** The tables of bindings. */
export interface PostgresSql extends Sql {
  readonly technology: 'postgres';
  /** Additional types that Postgres supports: bytes, booleans and arrays. */
  all<Row>(text: string, ...parameters: readonly PostgresValue[]): Promise<Row[]>;
  close(): Promise<void>;
}

/**
 * Generic plans are forced, because every statement of bindings reads few rows by an index, whatever the tables
 * contain. They cost a tenth of a plan for each statement's values, and do not become slow when an empty table fills
 * up.
 */
const session = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** SQLSTATE of a full disk. */
const diskFull = '53100';

/**
 * Runs a statement, and converts errors of an unavailable server to `store_unavailable`, and errors of its full disk to
 * `quota_exceeded`.
 */
function guarded<Result>(running: Promise<Result>): Promise<Result> {
  return running.catch((error: unknown) => {
    if (sqlState(error) === diskFull)
      throw new PlatformError('quota_exceeded', { what: 'This write', limit: 'the free disk space' }, { cause: error });
    throw isConnectionError(error) ? new PlatformError('store_unavailable', {}, { cause: error }) : error;
  });
}

/** @param options.url the URL of the engines' role, or of the owner. */
export function openPostgresSql(options: { url: string; name: string; connectionsMax?: number }): PostgresSql {
  const single = openPostgres({ ...options, schema: 'binding', settings: session });
  const asyncCommit = openPostgres({
    ...options,
    schema: 'binding',
    settings: { ...session, synchronous_commit: 'off' },
  });
  const together = openPostgres({ ...options, schema: 'binding' });
  return {
    technology: 'postgres',
    lock: ' FOR UPDATE',
    all: (text, ...parameters) => guarded(single.all(text, ...parameters)),
    asyncCommit: (text, ...parameters) => guarded(asyncCommit.all(text, ...parameters)),
    transaction: (work) => guarded(together.transaction((on) => work(inside(on)))),
    async close() {
      await Promise.all([single.close(), asyncCommit.close(), together.close()]);
    },
  };
}

/** `Sql` inside a transaction. */
function inside(on: Statements): Sql {
  const sql: Sql = {
    technology: 'postgres',
    lock: ' FOR UPDATE',
    all: <Row>(text: string, ...parameters: readonly SqlValue[]) => on.all<Row>(text, ...parameters),
    asyncCommit: (text, ...parameters) => sql.all(text, ...parameters),
    transaction: (work) => work(sql),
  };
  return sql;
}

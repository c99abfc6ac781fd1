// `Sql` over a pool of Postgres connections. Opened by the roots and handed to the stores.
import { PlatformError } from '#core/errors.ts';
import { isConnectionTrouble, openPostgres, type Postgres, type Transaction } from '#postgres/connection.ts';
import type { Sql, SqlValue } from './sql.ts';

/** The tables of bindings; `sql` is for what only Postgres has. */
export interface PostgresSql extends Sql {
  readonly technology: 'postgres';
  readonly pool: Postgres;
  close(): Promise<void>;
}

/** @param options.url of the engines' role, or of the owner. */
export function openPostgresSql(options: { url: string; name: string; connectionsMax?: number }): PostgresSql {
  const pool = openPostgres({ ...options, schema: 'binding' });
  return {
    ...over(pool),
    transaction: (work) => guarded(() => pool.begin((transaction) => work(nested(transaction))) as Promise<never>),
    pool,
    close: () => pool.end({ timeout: 5 }),
  };
}

function over(connection: Postgres | Transaction): Pick<PostgresSql, 'technology' | 'lock' | 'all'> {
  return {
    technology: 'postgres',
    lock: ' FOR UPDATE',
    all: <Row>(text: string, ...parameters: readonly SqlValue[]) =>
      guarded(async () => [...((await connection.unsafe(text, parameters as SqlValue[], { prepare: true })) as unknown as Row[])]),
  };
}

function nested(transaction: Transaction): Sql {
  const sql: Sql = { ...over(transaction), transaction: (work) => work(sql) };
  return sql;
}

/** Runs a statement; what means that the server is away becomes `store_unavailable`. */
export async function guarded<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (isConnectionTrouble(error)) throw new PlatformError('store_unavailable', {}, { cause: error });
    throw error;
  }
}

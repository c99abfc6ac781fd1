// `Sql` over pools of Postgres connections: a lean one for statements that stand alone, the driver's for transactions. Opened by the
// roots and handed to the stores.
//
// The driver does not survive every death of the server by itself: a connection that closes between a write and its flush sends
// nothing any more, and one that closes inside a transaction must not be written to. So a pool that has seen trouble is replaced, and
// a transaction whose connection is gone is left alone.
import { PlatformError } from '#core/errors.ts';
import { isConnectionTrouble, openPostgres, type Postgres, type Transaction } from '#postgres/connection.ts';
import { atMost } from '#postgres/wake.ts';
import { openWire } from '#postgres/wire.ts';
import type { WireValue } from '#postgres/wire-values.ts';
import type { Sql, SqlValue } from './sql.ts';

/** The tables of bindings. */
export interface PostgresSql extends Sql {
  readonly technology: 'postgres';
  /** The driver itself, for what is Postgres's own; errors pass through {@link guarded}. */ readonly pool: Postgres;
  close(): Promise<void>;
}

/**
 * Every statement of bindings takes few rows by an index, whatever the tables hold. A plan that is made once, by that rule, costs a
 * tenth of one that is made for the values of each statement, and does not turn bad when a table that was empty fills up.
 */
const session = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** What a caller gets to see of an error. */
function toStoreError(error: unknown): unknown {
  return isConnectionTrouble(error) ? new PlatformError('store_unavailable', {}, { cause: error }) : error;
}

/** Runs a statement; what means that the server is away becomes `store_unavailable`. */
export async function guarded<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw toStoreError(error);
  }
}

/** A pool that has seen trouble is replaced at most so often. */
const replaceMsLeast = 500;
const closeMsMax = 5000;

/** @param options.url of the engines' role, or of the owner. */
export function openPostgresSql(options: { url: string; name: string; connectionsMax?: number }): PostgresSql {
  const open = (): Postgres => openPostgres({ ...options, schema: 'binding' });
  // Statements that stand alone, which nearly all are.
  const wire = openWire({ ...options, schema: 'binding', settings: session, errorOf: toStoreError });
  const fleeting = openWire({ ...options, schema: 'binding', settings: { ...session, synchronous_commit: 'off' }, errorOf: toStoreError });
  let pool = open();
  let replacedAt = 0;
  const retired = new Set<Promise<void>>();

  function onPool<Result>(run: (on: Postgres) => Promise<Result>): Promise<Result> {
    const on = pool;
    return guarded(async () => {
      try {
        return await run(on);
      } catch (error) {
        if (isConnectionTrouble(error) && on === pool && performance.now() - replacedAt > replaceMsLeast) {
          replacedAt = performance.now();
          pool = open();
          // Without a limit: what is cut off while it connects would try again for ever.
          const end = on.end().catch(() => {});
          retired.add(end);
          void end.then(() => retired.delete(end));
        }
        throw error;
      }
    });
  }

  return {
    technology: 'postgres',
    lock: ' FOR UPDATE',
    all: <Row>(text: string, ...parameters: readonly SqlValue[]) => wire.all<Row>(text, parameters as readonly WireValue[]),
    fleeting: <Row>(text: string, ...parameters: readonly SqlValue[]) => fleeting.all<Row>(text, parameters as readonly WireValue[]),
    transaction: (work) => onPool((on) => transact(on, work)),
    pool: new Proxy(pool, {
      apply: (_first, self, given) => Reflect.apply(pool, self, given) as unknown,
      get: (_first, name) => Reflect.get(pool, name) as unknown,
    }),
    async close() {
      await Promise.all([wire.close(), fleeting.close()]);
      await pool.end({ timeout: 5 });
      await atMost(closeMsMax, Promise.all(retired));
    },
  };
}

async function query<Row>(on: Postgres | Transaction, text: string, parameters: readonly SqlValue[]): Promise<Row[]> {
  // The driver's result is an array of its own class.
  return [...((await on.unsafe(text, parameters as SqlValue[], { prepare: true })) as unknown as Row[])];
}

function transact<Result>(pool: Postgres, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  let gone: unknown = null;
  const forever = new Promise<never>(() => {});
  const whole = pool.begin(async (transaction) => {
    const sql: Sql = {
      technology: 'postgres',
      lock: ' FOR UPDATE',
      async all<Row>(text: string, ...parameters: readonly SqlValue[]) {
        if (gone !== null) throw gone;
        try {
          return await query<Row>(transaction, text, parameters);
        } catch (error) {
          if (isConnectionTrouble(error)) gone = error;
          throw error;
        }
      },
      fleeting: (text, ...parameters) => sql.all(text, ...parameters),
      transaction: (inner) => inner(sql),
    };
    try {
      const result = await work(sql);
      // No COMMIT and no ROLLBACK either: the promise of the whole has been rejected.
      return gone === null ? result : await forever;
    } catch (error) {
      if (gone === null) throw error;
      return forever;
    }
  }) as Promise<Result>;
  whole.catch((error: unknown) => {
    if (isConnectionTrouble(error)) gone ??= error;
  });
  return whole;
}

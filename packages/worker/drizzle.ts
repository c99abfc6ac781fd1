// `withOrm`: a drizzle database over a `db` binding, in `ctx.state.db`. The function has its own module, so that only
// projects that import it need drizzle.
import { drizzle, type DrizzleD1Database } from 'drizzle-orm/d1';
import type { BaseContext } from './route-types.ts';

/** Names of the `db` bindings; any name if the environment is not typed. */
type DatabaseName<Env> = unknown extends Env
  ? string
  : { [K in keyof Env]-?: Env[K] extends { prepare(sql: string): unknown; batch: unknown } ? K : never }[keyof Env] &
      string;

/** State with a drizzle database. */
export interface OrmState<Schema extends Record<string, unknown>> {
  readonly db: DrizzleD1Database<Schema>;
}

/**
 * A drizzle database over a `db` binding, for `state`. Transactions of this database exclude concurrent statements.
 *
 * @param binding name of the binding in `env`.
 * @param schema the tables and relations, from `import * as schema from './schema.ts'`.
 * @throws TypeError in the handler, if the binding does not exist.
 * @example platform<PlatformEnv>()
 *   .state(withOrm('DB', schema))
 *   .get('/users', (ctx) => ctx.state.db.query.users.findMany())
 */
export function withOrm<Schema extends Record<string, unknown>, Env = unknown>(
  binding: DatabaseName<Env>,
  schema: Schema,
): (ctx: BaseContext<Env, unknown>) => OrmState<Schema> {
  // One drizzle database for each binding object, because reading the relations of a schema takes longer than many
  // requests.
  const made = new WeakMap<object, OrmState<Schema>>();
  return (ctx) => {
    const database = (ctx.env as Record<string, object | undefined> | null | undefined)?.[binding];
    if (typeof (database as { prepare?: unknown } | undefined)?.prepare !== 'function')
      throw new TypeError(`withOrm: ${binding} is not a db binding of this worker`);
    let state = made.get(database!);
    if (state === undefined) made.set(database!, (state = { db: open(database!, schema) }));
    return state;
  };
}

function open<Schema extends Record<string, unknown>>(database: object, schema: Schema): DrizzleD1Database<Schema> {
  const db = drizzle(database as never, { schema });
  const transaction = db.transaction.bind(db) as (...given: unknown[]) => Promise<unknown>;
  const apart = async (...given: unknown[]): Promise<unknown> => {
    // The promise chain that sends the BEGIN is in the transaction, so `await` starts a new chain without the caller.
    await Promise.resolve();
    return transaction(...given);
  };
  return Object.assign(db, { transaction: apart as never });
}

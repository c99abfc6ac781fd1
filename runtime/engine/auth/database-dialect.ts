// A Kysely dialect over a project's database (bindings/database.ts), in which better-auth keeps its tables. Used by
// users.ts only.
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from 'kysely';
import {
  databaseOps,
  fromWire,
  toWire,
  type StoredValue,
  type WireRefusal,
  type WireResult,
} from '#core/database-request.ts';
import { callOfUsers } from '../bindings/auth.ts';
import type { DatabaseStore } from '../bindings/database.ts';
import type { DatabasePlace } from '../bindings/scope.ts';

/** Statements run one by one, because nothing here needs a transaction. */
export function databaseDialect(store: DatabaseStore, place: DatabasePlace): Dialect {
  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const payload = JSON.stringify([sql, parameters.map((value) => toWire(stored(value)))]);
      const answer = JSON.parse(
        (await store.run(place, databaseOps.query, 0, payload, callOfUsers.getStore()?.owner)) as string,
      ) as WireResult | WireRefusal;
      if ('e' in answer) throw Object.assign(new Error(answer.e[1]), { code: answer.e[0] });
      const { c: columns, r: rows, m: meta } = answer;
      const objects = rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, fromWire(row[index])])));
      return {
        rows: objects as Row[],
        numAffectedRows: BigInt(meta[3]),
        insertId: BigInt(Number(fromWire(meta[4]) ?? 0)),
      };
    },
    streamQuery() {
      throw new Error('Rows are not streamed here');
    },
  };
  const nothing = async (): Promise<void> => {};
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => ({
      init: nothing,
      acquireConnection: async () => connection,
      beginTransaction: nothing,
      commitTransaction: nothing,
      rollbackTransaction: nothing,
      releaseConnection: nothing,
      destroy: nothing,
    }),
  };
}

function stored(value: unknown): StoredValue {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof Date ? value.toISOString() : (value as StoredValue);
}

// The host half of the db binding: turns a binding's name into a database and passes requests and answers on as text. What is in
// them is the business of the guest half and of the database service (core/database-request.ts), not of this process.
import { databaseOps } from '#core/database-request.ts';
import type { HostHandler, HostReply } from '../bridge/host-calls.ts';
import { invalid, toRecord, toWhole } from './arguments.ts';
import type { BindingScope } from './scope.ts';

/** One database. */
export interface DatabasePlace {
  readonly namespace: string;
  readonly resource: string;
}

/** Where databases are. */
export interface DatabaseStore {
  /**
   * Sends a request.
   *
   * @param op of `databaseOps`.
   * @param transaction number of the interactive transaction it belongs to; 0 for none.
   * @param payload JSON, as `databaseOps` says; may be anything that a worker made up.
   * @returns JSON: the result or a refusal; bytes for `dump`.
   * @throws {PlatformError} `database_unavailable`, `database_corrupt`.
   */
  run(place: DatabasePlace, op: number, transaction: number, payload: string): Promise<string | Uint8Array>;
}

const opsOfWorkers = new Set<number>(Object.values(databaseOps));

/** The call of a deployment's db bindings: `{binding, op, transaction}` and the payload as a part -> the answer as a part. */
export function createDatabaseCalls(scope: BindingScope, store: DatabaseStore): Readonly<Record<string, HostHandler>> {
  return {
    'db.run': (call) => {
      const args = toRecord(call.args);
      const place = { namespace: scope.namespace, resource: scope.resource(args['binding']) };
      call.owner.countSubrequest();
      const { op } = args;
      if (typeof op !== 'number' || !opsOfWorkers.has(op)) throw invalid('There is no such operation on a database');
      const transaction = toWhole(args['transaction'], 'transaction', { least: 0, most: 2 ** 31, otherwise: 0 });
      const [payload] = call.parts;
      if (typeof payload !== 'string') throw invalid('A request to a database is text');
      return store.run(place, op, transaction, payload).then(toReply);
    },
  };
}

function toReply(answer: string | Uint8Array): HostReply {
  return { parts: [answer] };
}

// The host half of the db binding: resolves a binding's name to a database and passes requests and replies through as
// text. Only the guest half and the database service (core/database-request.ts) interpret them, not this process.
import type { DatabasePlace } from './scope.ts';
import { databaseOps } from '#core/database-request.ts';
import type { DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { CallOwner } from '../bridge/call-owner.ts';
import { invalid, toRecord, toWhole } from './arguments.ts';
import type { Outbox } from './outbox.ts';
import { toNewMessages } from './queue.ts';
import type { BindingScope } from './scope.ts';
import { sqlShown } from './sql-shown.ts';
import { carriedTrace } from './trace-headers.ts';

/** Owner of the CPU budget that is charged for statements. */
export type StatementOwner = Pick<CallOwner, 'cpuLeftMs' | 'isOver' | 'reserveCpu' | 'settleCpu'>;

/** The databases. */
export interface DatabaseStore {
  /**
   * Sends a request.
   *
   * @param op of `databaseOps`.
   * @param transaction number of its interactive transaction; 0 for none.
   * @param payload JSON as defined by `databaseOps`; untrusted. @param owner the owner that is charged for CPU;
   * undefined for requests of the platform itself.
   * @returns JSON: the result or a refusal; bytes for `dump`.
   * @throws {PlatformError} `database_unavailable`, `database_corrupt`.
   */
  run(
    place: DatabasePlace,
    op: number,
    transaction: number,
    payload: string,
    owner?: StatementOwner,
  ): Promise<string | Uint8Array>;
}

/** Matches the reply to a commit without messages. If a reply is lost, the commit may have had messages. */
const isWithoutMessages = /^\{"m":\[\d+\]\}$/;
const opNames: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(databaseOps).map(([name, op]) => [op, name]),
);
/** In longer requests, the statement is not searched. */
const SHOWN_CHARS_MAX = 64 * 1024;
const opsOfWorkers = new Set<number>(Object.values(databaseOps));

/** Dependencies for sending messages from databases. */
interface DatabaseMessages {
  readonly outbox: Outbox;
  /** The queues of the deployment. */
  readonly queues: BindingScope;
  readonly limits: DeliveryLimits;
}

/**
 * The calls of a deployment's db bindings. `run` takes `{binding, op, transaction}`, with the payload as a part, and
 * returns the reply as a part. `send` takes `{binding, transaction, queue, messages}`, and returns `{messageIds}` with
 * the reply as a part.
 *
 * @param messages null if there are no queues.
 */
export function createDatabaseCalls(
  scope: BindingScope,
  store: DatabaseStore,
  messages: DatabaseMessages | null = null,
  now: () => number = Date.now,
): Readonly<Record<string, HostFunction>> {
  // Open transactions. A transaction is rolled back when its invocation ends, because other requests wait for it, and
  // otherwise only its timeout would end it.
  const open = new Set<string>();
  const nameOf = ({ namespace, resource }: DatabasePlace, transaction: number): string =>
    `${namespace}/${resource}/${transaction}`;

  const onBegun = (owner: CallOwner, place: DatabasePlace, answer: string): void => {
    const { t } = JSON.parse(answer) as { readonly t?: number };
    if (t === undefined) return;
    const name = nameOf(place, t);
    open.add(name);
    owner.atExit(() => {
      // The transaction may already have ended, or its database may be unavailable.
      if (open.delete(name)) store.run(place, databaseOps.rollback, t, '[]').catch(() => {});
    });
  };

  return {
    'database.run': (call) => {
      const args = toRecord(call.args);
      const place = { namespace: scope.namespace, resource: scope.resource(args['binding']) };
      call.owner.countSubrequest();
      const { op } = args;
      if (typeof op !== 'number' || !opsOfWorkers.has(op)) throw invalid('There is no such operation on a database');
      const transaction = toWhole(args['transaction'], 'transaction', { least: 0, most: 2 ** 31, otherwise: 0 });
      const [payload] = call.parts;
      if (typeof payload !== 'string') throw invalid('A request to a database must be text');
      if (op === databaseOps.commit || op === databaseOps.rollback) open.delete(nameOf(place, transaction));
      call.span?.set('db.system.name', 'sqlite');
      call.span?.set('db.operation.name', opNames[op] ?? String(op));
      const statement = call.span ? statementIn(payload) : null;
      if (statement !== null) call.span?.set('db.query.text', statement);
      const answer = store.run(place, op, transaction, payload, call.owner);
      if (op !== databaseOps.begin && op !== databaseOps.commit) return answer.then(toReply);
      return answer.then((text) => {
        if (op === databaseOps.begin) onBegun(call.owner, place, text as string);
        else if (!isWithoutMessages.test(text as string)) messages?.outbox.committed(place);
        return toReply(text);
      });
    },
    async 'database.send'(call) {
      const { binding, transaction, queue, messages: given } = toRecord(call.args);
      const place = { namespace: scope.namespace, resource: scope.resource(binding) };
      call.owner.countSubrequest();
      if (messages === null)
        throw new PlatformError('binding_unavailable', {
          kind: 'queue',
          reason: 'this handler has no store for them',
        });
      const to = { namespace: messages.queues.namespace, resource: messages.queues.resource(queue) };
      const number = toWhole(transaction, 'transaction', { least: 1, most: 2 ** 31 });
      const taken = toNewMessages(given, call.parts, now(), messages.limits);
      const sender = {
        project: scope.project,
        branch: scope.branch,
        binding: queue as string,
        trace: carriedTrace(call),
      };
      call.span?.set('messaging.destination.name', to.resource);
      call.span?.set('messaging.batch.message_count', taken.length);
      return {
        value: { messageIds: taken.map(({ id }) => id) },
        parts: [await messages.outbox.put(place, number, to, sender, ...taken)],
      };
    },
  };
}

/** Whether the database refused the request (`WireRefusal` of core/database-request.ts). */
export function isRefusal({ parts = [] }: HostReply): boolean {
  const [answer] = parts;
  return typeof answer === 'string' && answer.startsWith('{"e":');
}

function toReply(answer: string | Uint8Array): HostReply {
  return { parts: [answer] };
}

/** The first statement of a request, without values; null if it has none, or is malformed. */
function statementIn(payload: string): string | null {
  if (payload.length > SHOWN_CHARS_MAX) return null;
  try {
    const [first] = JSON.parse(payload) as unknown[];
    const sql: unknown = Array.isArray(first) ? first[0] : first;
    return typeof sql === 'string' ? sqlShown(sql) : null;
  } catch {
    return null;
  }
}

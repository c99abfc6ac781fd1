// Requests to a database of a libSQL cloud, and its interactive transactions: each is a stream of the cloud, which
// ends with the transaction or after DB_TRANSACTION_MS. Called by database-cloud.ts. This module only uses the SQL of
// transactions.
import { randomInt } from 'node:crypto';
import type { DatabaseLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import type { DatabasePlace } from '../engine/bindings/scope.ts';
import { cloudName, type DatabaseCloudApi, type DatabaseCloudSettings } from './database-cloud-api.ts';
import { tooBig } from './database-cloud-fence.ts';
import { toHranaRefusal, type HranaAnswer, type HranaRequest, type HranaStatement } from './hrana.ts';

interface Stream {
  /** The database of the stream, because the number alone must not grant access. */
  readonly name: string;
  readonly address: string;
  baton: string | null;
  /** The last request. Requests of one stream are sequential, because each needs the baton of the previous one. */
  tail: Promise<unknown>;
  readonly timer: NodeJS.Timeout;
  /** Number of messages that the transaction adds to the outbox. */
  sends: number;
}

/** How many reasons of ended transactions are kept for later calls. */
const OVER_KEPT = 1000;

interface DatabaseCloudStreams {
  /** Sends a request; `transaction` 0 means outside of transactions. @returns the result. */
  ask(place: DatabasePlace, transaction: number, request: HranaRequest): Promise<unknown>;
  /** @returns the id of a new transaction. */
  begin(place: DatabasePlace): Promise<number>;
  /** @returns how many messages the transaction added to the outbox. */
  end(place: DatabasePlace, transaction: number, sql: 'COMMIT' | 'ROLLBACK', why: string): Promise<number>;
  /** Counts messages that a transaction added to the outbox. */
  addSends(transaction: number, count: number): void;
  close(): void;
}

/** Creates a statement without arguments whose rows are not requested. */
export const own = (sql: string): HranaStatement => ({ sql, args: [], want_rows: false });

export function createDatabaseCloudStreams(
  settings: DatabaseCloudSettings,
  api: DatabaseCloudApi,
  limits: DatabaseLimits,
): DatabaseCloudStreams {
  const streams = new Map<number, Stream>();
  /** The reason why a transaction ended. */
  const over = new Map<number, string>();

  async function post(address: string, baton: string | null, requests: readonly HranaRequest[]): Promise<HranaAnswer> {
    let response: Response;
    try {
      response = await fetch(`${address}/v2/pipeline`, {
        method: 'POST',
        headers: { authorization: `Bearer ${settings.groupToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ baton, requests }),
        signal: AbortSignal.timeout(limits.statementMs),
        redirect: 'error',
      });
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') {
        throw new SqlRefusal(
          'SQLITE_INTERRUPT',
          `the statement ran longer than ${limits.statementMs} ms: it may or may not have been applied`,
        );
      }
      throw new PlatformError('database_unavailable', { reason: 'the database cloud does not answer' });
    }
    const text = await response.text();
    if (!response.ok)
      throw new PlatformError('database_unavailable', {
        reason: `the database cloud answered with status ${response.status}`,
      });
    if (text.length > 4 * limits.resultBytesMax)
      throw tooBig('the result', `DB_MAX_RESULT_BYTES (${limits.resultBytesMax})`);
    return JSON.parse(text) as HranaAnswer;
  }

  /** The result of the first request of a pipeline. */
  async function ask(
    place: DatabasePlace,
    transaction: number,
    request: HranaRequest,
    isLast = false,
  ): Promise<unknown> {
    const requests: HranaRequest[] = transaction === 0 || isLast ? [request, { type: 'close' }] : [request];
    if (transaction === 0) return first(await post(await api.addressOf(place), null, requests));
    const stream = streams.get(transaction);
    if (stream === undefined || stream.name !== cloudName(settings.prefix, place)) {
      throw new SqlRefusal(
        'SQLITE_ABORT',
        `the transaction has ended: ${over.get(transaction) ?? 'it is unknown here'}`,
      );
    }
    const answer = stream.tail.then(() => post(stream.address, stream.baton, requests));
    stream.tail = answer.catch(() => {});
    const { baton } = await answer;
    stream.baton = baton;
    return first(await answer);
  }

  function first({ results }: HranaAnswer): unknown {
    const [result] = results;
    if (result === undefined)
      throw new PlatformError('database_unavailable', { reason: 'the database cloud answered nothing' });
    if (result.type === 'error') throw toHranaRefusal(result.error);
    return result.response.result;
  }

  async function begin(place: DatabasePlace): Promise<number> {
    const address = await api.addressOf(place);
    const answer = await post(address, null, [{ type: 'execute', stmt: own('BEGIN IMMEDIATE') }]);
    first(answer);
    const id = randomInt(1, 2 ** 31);
    const why = `it took longer than DB_TRANSACTION_MS (${limits.transactionMs}) and was rolled back`;
    const timer = setTimeout(() => {
      void end(place, id, 'ROLLBACK', why).catch(() => {});
    }, limits.transactionMs);
    streams.set(id, {
      name: cloudName(settings.prefix, place),
      address,
      baton: answer.baton,
      tail: Promise.resolve(),
      timer,
      sends: 0,
    });
    return id;
  }

  async function end(
    place: DatabasePlace,
    transaction: number,
    sql: 'COMMIT' | 'ROLLBACK',
    why: string,
  ): Promise<number> {
    const request = ask(place, transaction, { type: 'execute', stmt: own(sql) }, true);
    const stream = streams.get(transaction);
    if (stream?.name !== cloudName(settings.prefix, place)) {
      await request;
      return 0;
    }
    clearTimeout(stream.timer);
    streams.delete(transaction);
    over.set(transaction, why);
    if (over.size > OVER_KEPT) over.delete(over.keys().next().value as number);
    await request.catch((error: Error) => {
      if (sql === 'COMMIT') over.set(transaction, `its commit failed: ${error.message}`);
      throw error;
    });
    return stream.sends;
  }

  return {
    ask,
    begin,
    end,
    addSends(transaction, count) {
      const stream = streams.get(transaction);
      if (stream !== undefined) stream.sends += count;
    },
    close() {
      for (const { timer } of streams.values()) clearTimeout(timer);
      streams.clear();
    },
  };
}

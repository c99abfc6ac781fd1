// The guest half of the db binding: the API of D1 (docs/database.md), and interactive transactions. lazy.ts loads this
// module when it is first used. Requests and replies are JSON that only the database interprets
// (core/database-request.ts has the shapes).
import type { LazyDeps } from '../lazy.ts';
import { BegunByStatements, type Begun } from './database/begun.ts';
import { failure, typeError } from './database/errors.ts';
import { createWire, ops, type Result, type WireResult, type WireValue } from './database/wire.ts';

const digits = '0123456789abcdef';

export default function createDb({
  AsyncLocalStorage,
  atob,
  btoa,
  callHost,
  fromJson,
  givenBinding,
  toJson,
  isAnyArrayBuffer,
  toOptions,
}: LazyDeps): {
  create(name: string): object;
} {
  const { toWire, toRows, toObjects, toResult } = createWire({ atob, btoa, isAnyArrayBuffer });

  /** The target of statements: a database, one of its sessions or a transaction. */
  class Channel {
    readonly binding: string;
    readonly #transaction: number;
    readonly #begun: BegunByStatements | null;
    /** The latest version of the database in a reply; 0 before the first reply. */
    version = 0;

    constructor(binding: string, transaction = 0, begun: BegunByStatements | null = null) {
      this.binding = binding;
      this.#transaction = transaction;
      this.#begun = begun;
    }

    /** One statement. */
    async query(args: readonly [sql: string, ...unknown[]]): Promise<WireResult> {
      return this.#begun?.run(args[0]) ?? this.join<WireResult>(ops.query, args);
    }

    /** Like `ask`, but in the transaction that a statement has begun. */
    join<Answer>(op: number, args: unknown): Promise<Answer> {
      return this.ask(op, args, this.#begun?.current()?.transaction);
    }

    /** Sends a request and returns the JSON of the reply; throws refusals. */
    async ask<Answer>(op: number, args: unknown, transaction = this.#transaction): Promise<Answer> {
      const { binding } = this;
      let reply;
      try {
        reply = await callHost('database.run', { binding, op, transaction }, [toJson(args) as string]);
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        const wrapped = new Error(`D1_ERROR: ${message}`, { cause: error });
        Object.defineProperty(wrapped, 'code', { value: code, configurable: true, writable: true });
        throw wrapped;
      }
      return this.#read<Answer>(reply.parts[0]);
    }

    /** Adds messages to the transaction; errors have the wording of `queue.send`. */
    async send(queue: string, messages: readonly object[], bodies: readonly string[]): Promise<string[]> {
      const { binding } = this;
      const transaction = this.#transaction;
      const { value, parts } = await callHost('database.send', { binding, transaction, queue, messages }, bodies);
      this.#read(parts[0]);
      return (value as { messageIds: string[] }).messageIds;
    }

    #read<Answer>(part: unknown): Answer {
      if (typeof part !== 'string') return part as Answer;
      const answer = fromJson(part) as { e?: [code: string, message: string, line?: number, statement?: string] };
      if (answer.e === undefined) return answer as Answer;
      const [code, message, line, statement] = answer.e;
      throw failure(
        line === undefined ? 'D1_ERROR' : `D1_EXEC_ERROR: Error in line ${line}: ${statement}`,
        code,
        message,
      );
    }

    seen(result: WireResult): WireResult {
      if (result.m[7] > this.version) this.version = result.m[7];
      return result;
    }
  }

  class Statement {
    readonly #channel: Channel;
    readonly #sql: string;
    readonly #values: readonly WireValue[];

    constructor(channel: Channel, sql: string, values: readonly WireValue[]) {
      this.#channel = channel;
      this.#sql = sql;
      this.#values = values;
    }

    /** The SQL and the values of a statement, for a batch. */
    static parts(statement: unknown): [sql: string, values: readonly WireValue[]] {
      if (typeof statement !== 'object' || statement === null || !(#sql in statement)) throw typeError(statement);
      return [statement.#sql, statement.#values];
    }

    bind(...values: unknown[]): Statement {
      const wire: WireValue[] = [];
      for (let index = 0; index < values.length; index++) wire[index] = toWire(values[index]);
      return new Statement(this.#channel, this.#sql, wire);
    }

    async #query(firstOnly: boolean): Promise<WireResult> {
      const args = firstOnly ? ([this.#sql, this.#values, 1] as const) : ([this.#sql, this.#values] as const);
      return this.#channel.seen(await this.#channel.query(args));
    }

    async all(): Promise<Result> {
      return toResult(await this.#query(false));
    }

    async run(): Promise<Result> {
      return toResult(await this.#query(false));
    }

    async first(column?: string): Promise<unknown> {
      const result = await this.#query(true);
      const row = toObjects(result)[0];
      if (row === undefined) return null;
      if (column === undefined || column === null) return row;
      if (result.c.indexOf(column) === -1) throw failure('D1_ERROR', 'SQLITE_ERROR', `no such column: ${column}`);
      return row[column];
    }

    async raw(options?: { columnNames?: boolean }): Promise<unknown[][]> {
      const { columnNames } = toOptions('The options of raw', options);
      const result = await this.#query(false);
      const rows = toRows(result);
      if (columnNames === true) rows.unshift([...result.c]);
      return rows;
    }
  }

  async function runBatch(channel: Channel, statements: unknown): Promise<Result[]> {
    if (!Array.isArray(statements)) throw new TypeError('batch takes a list of statements');
    const results = await channel.join<WireResult[]>(
      ops.batch,
      statements.map((statement) => Statement.parts(statement)),
    );
    return results.map((result) => toResult(channel.seen(result)));
  }

  async function runExec(channel: Channel, sql: unknown): Promise<{ count: number; duration: number }> {
    if (typeof sql !== 'string') throw typeError(sql);
    const { n, d } = await channel.join<{ n: number; d: number }>(ops.exec, [sql]);
    return { count: n, duration: d };
  }

  function toSql(sql: unknown): string {
    if (typeof sql !== 'string') throw typeError(sql);
    return sql;
  }

  class Session {
    readonly #channel: Channel;
    readonly #start: string | null;

    constructor(binding: string, begun: BegunByStatements, start: string | null) {
      this.#channel = new Channel(binding, 0, begun);
      this.#start = start;
    }

    prepare(sql: unknown): Statement {
      return new Statement(this.#channel, toSql(sql), []);
    }

    async batch(statements: unknown): Promise<Result[]> {
      return runBatch(this.#channel, statements);
    }

    getBookmark(): string | null {
      if (this.#channel.version === 0) return this.#start;
      let hex = '';
      for (let rest = this.#channel.version; hex.length < 16; rest = Math.floor(rest / 16))
        hex = (digits[rest % 16] as string) + hex;
      return `${hex.slice(0, 8)}-${hex.slice(8)}-00000000-00000000000000000000000000000000`;
    }
  }

  class Transaction {
    readonly #channel: Channel;
    readonly #sends: Promise<unknown>[] = [];

    constructor(channel: Channel) {
      this.#channel = channel;
    }

    prepare(sql: unknown): Statement {
      return new Statement(this.#channel, toSql(sql), []);
    }

    async batch(statements: unknown): Promise<Result[]> {
      return runBatch(this.#channel, statements);
    }

    async exec(sql: unknown): Promise<{ count: number; duration: number }> {
      return runExec(this.#channel, sql);
    }

    /** Sends a message to a queue if and only if the transaction commits. */
    async send(queue: unknown, payload: unknown, options?: unknown): Promise<{ messageId: string }> {
      return { messageId: (await this.#send('send', queue, payload, options))[0] as string };
    }

    /** Sends all messages, or none of them. */
    async sendBatch(queue: unknown, messages: unknown, options?: unknown): Promise<{ messageIds: string[] }> {
      return { messageIds: await this.#send('sendBatch', queue, messages, options) };
    }

    #send(name: 'send' | 'sendBatch', queue: unknown, given: unknown, options: unknown): Promise<string[]> {
      const addressed = givenBinding('queue')?.address?.(queue, given, options, name === 'sendBatch');
      if (addressed == null) {
        const example = name === 'send' ? 'payload' : '[{ payload }]';
        throw new TypeError(`${name} takes a queue of env, such as tx.${name}(env.MAIL, ${example})`);
      }
      const sent = this.#channel.send(addressed.queue, addressed.messages, addressed.bodies);
      this.#sends.push(sent);
      return sent;
    }

    /** Resolves when all messages of the transaction were sent or have failed. */
    static async sent(transaction: Transaction): Promise<void> {
      for (const sent of transaction.#sends) await sent.catch(() => {});
    }
  }

  class Database {
    readonly #begun: BegunByStatements;
    readonly #channel: Channel;

    constructor(binding: string) {
      const channel = new Channel(binding);
      const storage = new AsyncLocalStorage<Begun | undefined>();
      this.#begun = new BegunByStatements(storage, (op, args, transaction) => channel.ask(op, args, transaction));
      this.#channel = new Channel(binding, 0, this.#begun);
    }

    prepare(sql: unknown): Statement {
      return new Statement(this.#channel, toSql(sql), []);
    }

    async batch(statements: unknown): Promise<Result[]> {
      return runBatch(this.#channel, statements);
    }

    async exec(sql: unknown): Promise<{ count: number; duration: number }> {
      return runExec(this.#channel, sql);
    }

    async dump(): Promise<ArrayBuffer> {
      const bytes = await this.#channel.ask<Uint8Array<ArrayBuffer>>(ops.dump, []);
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    }

    withSession(start?: string): Session {
      // One process owns a database and answers in order, so every session sees all earlier commits.
      const isBookmark =
        typeof start === 'string' &&
        start !== 'first-primary' &&
        start !== 'first-unconstrained' &&
        start.trim() !== '';
      return new Session(this.#channel.binding, this.#begun, isBookmark ? start : null);
    }

    async transaction(work: (transaction: Transaction) => unknown): Promise<unknown> {
      if (typeof work !== 'function') throw new TypeError('transaction takes a function');
      const { binding } = this.#channel;
      const { t } = await this.#channel.ask<{ t: number }>(ops.begin, []);
      const channel = new Channel(binding, t);
      let result: unknown;
      try {
        const transaction = new Transaction(channel);
        result = await work(transaction);
        // Waits for all messages, including those that the worker did not await.
        await Transaction.sent(transaction);
      } catch (error) {
        // Errors of the rollback are ignored, because the transaction may already have ended.
        await channel.ask(ops.rollback, []).catch(() => {});
        throw error;
      }
      await channel.ask(ops.commit, []);
      return result;
    }
  }

  return { create: (name) => new Database(name) };
}

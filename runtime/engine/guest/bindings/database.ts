// The guest half of the db binding: the shape of D1 (docs/database.md), and interactive transactions. A module of
// lazy.ts. Requests and answers are JSON that only the database reads (core/database-request.ts has the shapes).
import type { LazyParts } from '../lazy.ts';

type WireValue = null | number | string | { b?: string; i?: string; n?: string };

interface WireResult {
  readonly c: readonly string[];
  readonly r: WireValue[][];
  readonly m: readonly [number, number, number, number, WireValue, 0 | 1, number, number, number];
}

interface Meta {
  readonly served_by: string;
  readonly duration: number;
  readonly changes: number;
  readonly last_row_id: number | bigint;
  readonly changed_db: boolean;
  readonly size_after: number;
  readonly rows_read: number;
  readonly rows_written: number;
}

interface Result {
  readonly success: true;
  readonly meta: Meta;
  readonly results: Record<string, unknown>[];
}

// As in core/database-request.ts.
const ops = { query: 1, batch: 2, exec: 3, dump: 4, begin: 5, commit: 6, rollback: 7 } as const;

const digits = '0123456789abcdef';

/** Statements that begin or end a transaction. Longer texts are not tested. */
const control =
  /^\s*(?:(begin)(?:\s+(?:deferred|immediate|exclusive))?|(?:(commit)|end)|(rollback))(?:\s+transaction)?[\s;]*$/i;
const CONTROL_CHARS_MAX = 40;

export default function createDb({
  AsyncLocalStorage,
  atob,
  btoa,
  callHost,
  fromJson,
  givenBinding,
  toJson,
  isAnyArrayBuffer,
}: LazyParts): {
  create(name: string): object;
} {
  const { fromCharCode } = String;
  const { is } = Object;
  const nothing = (): WireResult => ({ c: [], r: [], m: [0, 0, 0, 0, 0, 0, 0, 0, 0] });

  function failure(prefix: string, code: string, message: string): Error {
    // The base code stands in the text, as in D1; the extended one is a field.
    const text = `${message}: ${/^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code}`;
    const error = new Error(`${prefix}: ${text}`, { cause: new Error(text) });
    Object.defineProperty(error, 'code', { value: code, configurable: true, writable: true });
    return error;
  }

  function typeError(value: unknown): Error {
    const text = `Type '${typeof value}' not supported for value '${String(value)}'`;
    return new Error(`D1_TYPE_ERROR: ${text}`, { cause: new Error(text) });
  }

  function toWire(value: unknown): WireValue {
    switch (typeof value) {
      case 'string':
        return value;
      case 'number':
        return value - value === 0 && !is(value, -0) ? value : { n: is(value, -0) ? '-0' : `${value}` };
      case 'boolean':
        return value ? 1 : 0;
      case 'bigint':
        if (BigInt.asIntN(64, value) !== value) break;
        return { i: `${value}` };
      case 'object':
        if (value === null) return null;
        if (isAnyArrayBuffer(value)) return { b: toBase64(new Uint8Array(value as ArrayBuffer)) };
        if (ArrayBuffer.isView(value))
          return { b: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
        if (Array.isArray(value) && value.every((item) => typeof item === 'number' && item >= 0 && item < 256)) {
          return { b: toBase64(Uint8Array.from(value as number[])) };
        }
    }
    throw typeError(value);
  }

  function toBase64(bytes: Uint8Array): string {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192) text += fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
  }

  /** What JSON has no word for; blobs are arrays of numbers, as in D1. */
  function fromWire(value: { b?: string; i?: string; n?: string }): unknown {
    if (value.i !== undefined) return BigInt(value.i);
    if (value.n !== undefined) return Number(value.n);
    const text = atob(value.b as string);
    const bytes: number[] = [];
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return bytes;
  }

  function toRows(result: WireResult): unknown[][] {
    const rows = result.r as unknown[][];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as unknown[];
      for (let column = 0; column < row.length; column++) {
        const value = row[column];
        if (typeof value === 'object' && value !== null) row[column] = fromWire(value);
      }
    }
    return rows;
  }

  function toObjects(result: WireResult): Record<string, unknown>[] {
    const { c: columns } = result;
    const rows = toRows(result);
    const objects: Record<string, unknown>[] = [];
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as unknown[];
      const object: Record<string, unknown> = {};
      for (let column = 0; column < columns.length; column++) {
        const name = columns[column] as string;
        if (name === '__proto__')
          Object.defineProperty(object, name, {
            value: row[column],
            enumerable: true,
            configurable: true,
            writable: true,
          });
        else object[name] = row[column];
      }
      objects[index] = object;
    }
    return objects;
  }

  function toMeta({ m }: WireResult): Meta {
    return {
      served_by: `shard-${m[8]}`,
      duration: m[0],
      changes: m[3],
      last_row_id: typeof m[4] === 'object' ? (fromWire(m[4] as { i: string }) as bigint) : (m[4] as number),
      changed_db: m[5] === 1,
      size_after: m[6],
      rows_read: m[1],
      rows_written: m[2],
    };
  }

  function toResult(result: WireResult): Result {
    return { success: true, meta: toMeta(result), results: toObjects(result) };
  }

  /** A transaction that a statement began. */
  interface Begun {
    /** Its id; 0 before its BEGIN has returned and after its end. */
    transaction: number;
    /** The transaction that its BEGIN was sent in. */
    readonly outer: Begun | undefined;
  }

  /** The transactions of a database that statements begin: the code that awaits a `BEGIN` is in its transaction. */
  class BegunByStatements {
    readonly #channel: Channel;
    readonly #storage = new AsyncLocalStorage<Begun | undefined>();

    constructor(binding: string) {
      this.#channel = new Channel(binding);
    }

    /** The transaction of the running code. */
    current(): Begun | undefined {
      const found = this.#storage.getStore();
      if (found === undefined || found.transaction !== 0) return found;
      // Its own code waits for the BEGIN, so this is concurrent code: it leaves the transaction for good.
      let at: Begun | undefined = found;
      while (at !== undefined && at.transaction === 0) at = at.outer;
      this.#storage.enterWith(at);
      return at;
    }

    /** Runs a statement that begins or ends a transaction; null for any other. */
    run(sql: string): Promise<WireResult> | null {
      const said = sql.length <= CONTROL_CHARS_MAX ? control.exec(sql) : null;
      if (said === null) return null;
      return said[1] !== undefined ? this.#begin() : this.#end(said[3] === undefined ? 'commit' : 'rollback');
    }

    async #begin(): Promise<WireResult> {
      const begun: Begun = { transaction: 0, outer: this.current() };
      // Enters it for the caller, which has not awaited anything yet.
      this.#storage.enterWith(begun);
      begun.transaction = (await this.#channel.ask<{ t: number }>(ops.begin, [])).t;
      return nothing();
    }

    async #end(how: 'commit' | 'rollback'): Promise<WireResult> {
      const begun = this.current();
      if (begun === undefined) throw failure('D1_ERROR', 'SQLITE_ERROR', `cannot ${how} - no transaction is active`);
      const { transaction } = begun;
      const channel = new Channel(this.#channel.binding, transaction);
      // A failed commit leaves it current: drivers send ROLLBACK next, which must not fail.
      if (how === 'commit') await channel.ask(ops.commit, []);
      begun.transaction = 0;
      if (how === 'rollback')
        await channel.ask(ops.rollback, []).catch((error: { code?: string }) => {
          if (error.code !== 'SQLITE_ABORT') throw error;
        });
      return nothing();
    }
  }

  /** A database, a session of it or a transaction: where statements go. */
  class Channel {
    readonly binding: string;
    readonly #transaction: number;
    readonly #begun: BegunByStatements | null;
    /** The newest state that an answer has shown; 0 for none. */
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

    /** As `ask`, in the transaction that a statement began. */
    join<Answer>(op: number, args: unknown): Promise<Answer> {
      return this.ask(op, args, this.#begun?.current()?.transaction);
    }

    /** The answer's JSON, without refusals. */
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

    /** Puts messages into the transaction; what is wrong with one is said as `queue.send` says it. */
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

    /** SQL and values, for a batch. */
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
      const result = await this.#query(false);
      const rows = toRows(result);
      if (options?.columnNames === true) rows.unshift([...result.c]);
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

    /** To a queue, if and only if the transaction commits. */
    async send(queue: unknown, payload: unknown, options?: unknown): Promise<{ messageId: string }> {
      return { messageId: (await this.#send('send', queue, payload, options))[0] as string };
    }

    /** The same for several messages, all or none. */
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

    /** Resolves when no message is on its way into the transaction, however that ended. */
    static async sent(transaction: Transaction): Promise<void> {
      for (const sent of transaction.#sends) await sent.catch(() => {});
    }
  }

  class Database {
    readonly #begun: BegunByStatements;
    readonly #channel: Channel;

    constructor(binding: string) {
      this.#begun = new BegunByStatements(binding);
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
      // One process owns a database and answers in order: every session sees all that was committed before it.
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
        // A message that was not awaited belongs to it all the same.
        await Transaction.sent(transaction);
      } catch (error) {
        // What the worker threw is what counts; a transaction that is over already needs no end.
        await channel.ask(ops.rollback, []).catch(() => {});
        throw error;
      }
      await channel.ask(ops.commit, []);
      return result;
    }
  }

  return { create: (name) => new Database(name) };
}

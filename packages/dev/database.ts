// `env.<NAME>` of a database, in Node: statements are built here and run in one call each. Made by env.ts.
import { BegunByStatements } from './begun.ts';
import type { Answer, Call, Connection } from './connection.ts';
import { giveForm } from './values.ts';

type Step = Required<Call>['next'][number];

/** Target of statements: the database, one of its sessions, or a transaction. */
type Ask = (call: Call) => Promise<unknown>;

function typeError(value: unknown): Error {
  const text = `Type '${typeof value}' not supported for value '${String(value)}'`;
  return new Error(`D1_TYPE_ERROR: ${text}`, { cause: new Error(text) });
}

/** Values that are refused synchronously, as inside a worker. */
function checkValue(value: unknown): void {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      return;
    case 'bigint':
      if (BigInt.asIntN(64, value) === value) return;
      break;
    case 'object': {
      const isByte = (item: unknown): boolean => typeof item === 'number' && item >= 0 && item < 256;
      if (value === null || ArrayBuffer.isView(value) || (Array.isArray(value) && value.every(isByte))) return;
      if (/^\[object (?:Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value))) return;
    }
  }
  throw typeError(value);
}

class Statement {
  readonly #ask: Ask;
  readonly #sql: string;
  readonly #values: readonly unknown[];

  constructor(ask: Ask, sql: unknown, values: readonly unknown[] = []) {
    if (typeof sql !== 'string') throw typeError(sql);
    values.forEach(checkValue);
    this.#ask = ask;
    this.#sql = sql;
    // The values are copied now, because the caller may write to an array afterwards.
    this.#values = values.map((value) =>
      typeof value === 'object' && value !== null ? structuredClone(value) : value,
    );
    giveForm(this, (inside) => ({ $statement: [this.#sql, inside(this.#values)] }));
  }

  static is(value: unknown): value is Statement {
    return typeof value === 'object' && value !== null && #sql in value;
  }

  #run(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const bind: Step[] = this.#values.length === 0 ? [] : [{ method: 'bind', args: this.#values }];
    return this.#ask({ method: 'prepare', args: [this.#sql], next: [...bind, { method, args }] });
  }

  bind(...values: readonly unknown[]): Statement {
    return new Statement(this.#ask, this.#sql, values);
  }

  all(): Promise<unknown> {
    return this.#run('all');
  }

  run(): Promise<unknown> {
    return this.#run('run');
  }

  first(column?: unknown): Promise<unknown> {
    return column === undefined ? this.#run('first') : this.#run('first', column);
  }

  raw(options?: unknown): Promise<unknown> {
    return options === undefined ? this.#run('raw') : this.#run('raw', options);
  }
}

async function runBatch(ask: Ask, statements: unknown): Promise<unknown> {
  if (!Array.isArray(statements)) throw new TypeError('batch takes a list of statements');
  for (const statement of statements) if (!Statement.is(statement)) throw typeError(statement);
  return ask({ method: 'batch', args: [statements] });
}

async function runExec(ask: Ask, sql: unknown): Promise<unknown> {
  if (typeof sql !== 'string') throw typeError(sql);
  return ask({ method: 'exec', args: [sql] });
}

class Session {
  readonly #ask: Ask;
  #bookmark: string | null;

  /** @param call calls the database: with `inside` in a transaction begun by a statement, otherwise with `call`. */
  constructor(call: (inside: Call, call: Call) => Promise<Answer>, start: unknown) {
    const isBookmark =
      typeof start === 'string' && !['first-primary', 'first-unconstrained'].includes(start) && start.trim() !== '';
    this.#bookmark = isBookmark ? start : null;
    this.#ask = async (inside) => {
      const { method, args, next = [] } = inside;
      const from = this.#bookmark ?? start;
      const { result, bookmark } = await call(inside, {
        method: 'withSession',
        args: from === undefined ? [] : [from],
        next: [{ method, args }, ...next],
      });
      if (typeof bookmark === 'string' && bookmark > (this.#bookmark ?? '')) this.#bookmark = bookmark;
      return result;
    };
  }

  prepare(sql: unknown): Statement {
    return new Statement(this.#ask, sql);
  }

  batch(statements: unknown): Promise<unknown> {
    return runBatch(this.#ask, statements);
  }

  getBookmark(): string | null {
    return this.#bookmark;
  }
}

class Transaction {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  prepare(sql: unknown): Statement {
    return new Statement(this.#ask, sql);
  }

  batch(statements: unknown): Promise<unknown> {
    return runBatch(this.#ask, statements);
  }

  exec(sql: unknown): Promise<unknown> {
    return runExec(this.#ask, sql);
  }

  /** Sends to a queue, if and only if the transaction commits. */
  async send(...args: readonly unknown[]): Promise<unknown> {
    return this.#ask({ method: 'send', args });
  }

  async sendBatch(...args: readonly unknown[]): Promise<unknown> {
    return this.#ask({ method: 'sendBatch', args });
  }
}

export class Database {
  readonly #name: string;
  readonly #connection: Connection;
  readonly #begun: BegunByStatements;
  readonly #ask: Ask;

  constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
    this.#begun = new BegunByStatements(() => connection.transaction(name));
    this.#ask = async (call) => (await this.#join(call)).result;
  }

  #join(inside: Call, call = inside): Promise<Answer> {
    return this.#begun.take(inside) ?? this.#call(call);
  }

  /** Sends a call with its blobs as part of the JSON, because a statement may have several blobs. */
  #call(call: Call): Promise<Answer> {
    return this.#connection.call(this.#name, call, { rawBody: false });
  }

  prepare(sql: unknown): Statement {
    return new Statement(this.#ask, sql);
  }

  batch(statements: unknown): Promise<unknown> {
    return runBatch(this.#ask, statements);
  }

  exec(sql: unknown): Promise<unknown> {
    return runExec(this.#ask, sql);
  }

  async dump(): Promise<unknown> {
    return (await this.#call({ method: 'dump', args: [] })).result;
  }

  withSession(start?: unknown): Session {
    return new Session((inside, call) => this.#join(inside, call), start);
  }

  async transaction(work: (transaction: Transaction) => unknown): Promise<unknown> {
    if (typeof work !== 'function') throw new TypeError('transaction takes a function');
    const calls = await this.#connection.transaction(this.#name);
    let result: unknown;
    try {
      result = await work(new Transaction((call) => calls.call(call)));
    } catch (error) {
      await calls.rollback();
      throw error;
    }
    await calls.commit();
    return result;
  }
}

// One open database: runs what requests ask, one after the other, and holds the single interactive transaction that writes
// of others wait for. Called by the shard; runs no SQL outside a Connection, and knows no sockets.
import { randomInt } from 'node:crypto';
import { statSync } from 'node:fs';
import type { DatabaseLimits } from '#core/database-limits.ts';
import { createOutbox, findOutbox, insertOutbox, outboxList, outboxPage, readOutbox, removeOutbox } from '#core/database-outbox.ts';
import { SqlRefusal, type StoredValue, toWire } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { Connection, type Prepared, type StatementRun } from './connection.ts';
import { backupTo, branchTo, checkFile, setAside } from './copies.ts';
import { kinds, ops } from './frames.ts';
import { migrate } from './migrations.ts';
import { splitStatements } from './sql-text.ts';
import { isBusy, isCorruption, toRefusal } from './sqlite-errors.ts';

/** A request on its way through a database. */
export interface Job {
  readonly op: number;
  /** Transaction it belongs to; 0 for none. */ readonly transaction: number;
  readonly args: readonly unknown[];
  /** The connection it came over: what it leaves open goes with it. */ readonly owner: object;
  /** Called once. */ answer(kind: number, payload: string | Uint8Array): void;
  /** Around the time in which SQL of the job runs. */ begin(): void;
  end(): void;
}

/** What a database file needs. */
export interface DatabaseFileParts {
  readonly path: string;
  readonly limits: DatabaseLimits;
  readonly synchronous: 'normal' | 'full';
  /** Number of the process, for `meta.served_by`. */ readonly shard: number;
  /** The path of another database of the same project, for a branch. */ pathOf(name: string): string;
  /** The file is damaged, and closed. */ damaged(): void;
  /** Something the operator should know. */ report(message: string): void;
}

interface Transaction {
  readonly id: number;
  readonly owner: object;
  readonly timer: NodeJS.Timeout;
  schema: boolean;
  /** Messages that it puts into the outbox. */ sends: number;
}

interface Waiting {
  readonly job: Job;
  readonly until: number;
}

const begun = '{}';
/** Rows of the outbox that are read at a time. */
const OUTBOX_ROWS = 100;
const alone = new Set<number>([ops.batch, ops.exec, ops.begin, ops.migrate, ops.branch, ops.dequeue]);

export class DatabaseFile {
  readonly #parts: DatabaseFileParts;
  readonly #main: Connection;
  /** For interactive transactions: others read the committed state through the main connection meanwhile. */
  #second: Connection | null = null;
  #transaction: Transaction | null = null;
  readonly #ended = new Map<number, string>();
  #waiting: Waiting[] = [];
  #waitTimer: NodeJS.Timeout | null = null;
  #bytes = 0;
  #version: number;
  /** A copy is being made: the file must not be closed. */
  #copying = 0;
  /** Branches that are being made, by their paths. */
  readonly #branches = new Map<string, Promise<string>>();

  /**
   * @throws {PlatformError} `database_corrupt` for a damaged file, which is set aside.
   */
  constructor(parts: DatabaseFileParts) {
    this.#parts = parts;
    checkFile(parts.path, parts.limits.checkBytesMax, parts.report);
    this.#main = this.#connect();
    this.#bytes = this.#main.bytes;
    this.#version = Math.round(statSync(parts.path).mtimeMs * 1000);
  }

  get isIdle(): boolean {
    return this.#transaction === null && this.#waiting.length === 0 && this.#copying === 0;
  }

  #connect(): Connection {
    try {
      return new Connection(this.#parts);
    } catch (error) {
      if (!isCorruption(error)) throw error;
      throw setAside(this.#parts.path, (error as Error).message, this.#parts.report);
    }
  }

  /** Takes a job; its answer may come later. */
  take(job: Job): void {
    if (this.#mustWait(job)) {
      this.#wait(job);
      return;
    }
    this.#perform(job);
    if (this.#waiting.length > 0 && this.#transaction === null) this.#drain();
  }

  #mustWait(job: Job): boolean {
    if (this.#transaction === null || job.transaction !== 0) return false;
    if (alone.has(job.op)) return true;
    if (job.op !== ops.query) return false;
    // Compiling may take as long as running.
    job.begin();
    try {
      return this.#main.prepare(String(job.args[0])).writes;
    } catch {
      // Its own turn says what is wrong with it.
      return false;
    } finally {
      job.end();
    }
  }

  #wait(job: Job): void {
    const { waitingMax, waitMs } = this.#parts.limits;
    if (this.#waiting.length >= waitingMax) {
      const message = `more than DB_WAITING_MAX (${waitingMax}) requests wait for a transaction of this database`;
      job.answer(kinds.json, new SqlRefusal('SQLITE_BUSY', message).toJson());
      return;
    }
    this.#waiting.push({ job, until: performance.now() + waitMs });
    this.#waitTimer ??= setTimeout(() => this.#giveUp(), waitMs);
  }

  #giveUp(): void {
    this.#waitTimer = null;
    const now = performance.now();
    const late = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    const message = `database is locked: a transaction took longer than DB_WAIT_MS (${this.#parts.limits.waitMs})`;
    for (const { job } of late) job.answer(kinds.json, new SqlRefusal('SQLITE_BUSY', message).toJson());
    const next = this.#waiting[0];
    if (next !== undefined) this.#waitTimer = setTimeout(() => this.#giveUp(), next.until - now + 1);
  }

  #drain(): void {
    const turn = this.#waiting;
    this.#waiting = [];
    for (const [index, { job, until }] of turn.entries()) {
      if (this.#transaction !== null) {
        this.#waiting.unshift(...turn.slice(index));
        break;
      }
      this.#perform(job, until);
    }
    if (this.#waiting.length === 0 && this.#waitTimer !== null) {
      clearTimeout(this.#waitTimer);
      this.#waitTimer = null;
    }
  }

  #perform(job: Job, until?: number): void {
    let kind: number = kinds.json;
    let payload: string | Uint8Array | Promise<string>;
    job.begin();
    try {
      payload = this.#run(job);
      if (payload instanceof Uint8Array) kind = kinds.bytes;
    } catch (error) {
      if (isBusy(error) && (until === undefined || performance.now() < until)) {
        // Another process holds the file for a moment: it is being moved, or copied by hand.
        this.#waiting.push({ job, until: until ?? performance.now() + this.#parts.limits.waitMs });
        setTimeout(() => this.#drain(), 5);
        return;
      }
      [kind, payload] = this.#failure(error);
    } finally {
      job.end();
    }
    if (payload instanceof Promise) {
      payload.then(
        (text) => job.answer(kinds.json, text),
        (error: unknown) => job.answer(...this.#failure(error)),
      );
    } else job.answer(kind, payload);
  }

  #failure(error: unknown): [kind: number, payload: string] {
    if (error instanceof PlatformError) return [kinds.failure, JSON.stringify([error.code, error.details])];
    if (isCorruption(error) && !this.#isSound()) {
      this.close();
      this.#parts.damaged();
      const corrupt = setAside(this.#parts.path, (error as Error).message, this.#parts.report);
      return [kinds.failure, JSON.stringify([corrupt.code, corrupt.details])];
    }
    try {
      return [kinds.json, toRefusal(error).toJson()];
    } catch {
      this.#parts.report(`a request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      return [kinds.failure, '["internal",{}]'];
    }
  }

  #isSound(): boolean {
    try {
      return this.#main.own('PRAGMA quick_check(1)')[0]?.[0] === 'ok';
    } catch (error) {
      // The check computes generated columns, and those of a tenant may fail.
      return !isCorruption(error);
    }
  }

  #run(job: Job): string | Uint8Array | Promise<string> {
    const { op, args, transaction } = job;
    const connection = transaction === 0 ? this.#main : this.#connectionOf(transaction, job.owner);
    switch (op) {
      case ops.query:
        return this.#query(connection, args);
      case ops.batch:
        return this.#batch(connection, args);
      case ops.exec:
        return this.#exec(connection, args);
      case ops.dump:
        return this.#dump(connection);
      case ops.begin:
        return this.#begin(job.owner);
      case ops.commit:
        return this.#commit(connection);
      case ops.rollback:
        this.#rollback('it was rolled back');
        return begun;
      case ops.enqueue:
        return this.#enqueue(connection, args);
      case ops.describe:
        return JSON.stringify({ bytes: this.#bytes, path: this.#parts.path });
      default:
        return this.#ownerOp(op, args);
    }
  }

  #connectionOf(transaction: number, owner: object): Connection {
    if (this.#transaction?.id === transaction && this.#transaction.owner === owner && this.#second !== null) return this.#second;
    const why = this.#ended.get(transaction) ?? 'it is not known here';
    throw new SqlRefusal('SQLITE_ABORT', `the transaction is over: ${why}`);
  }

  #query(connection: Connection, [sql, values, rowsMax]: readonly unknown[]): string {
    const most = typeof rowsMax === 'number' && rowsMax >= 1 ? rowsMax : Infinity;
    const startedAt = performance.now();
    const prepared = connection.prepare(textOf(sql));
    // Rows of RETURNING come after the change is made: only a transaction undoes it when they are too many.
    const guarded = prepared.writes && prepared.columnCount > 0 && !connection.inTransaction;
    const run = guarded ? this.#atomic(connection, () => connection.run(prepared, values)) : connection.run(prepared, values, most);
    return this.#result(connection, prepared, run, startedAt);
  }

  #batch(connection: Connection, statements: readonly unknown[]): string {
    const { batchStatementsMax, resultBytesMax } = this.#parts.limits;
    if (statements.length > batchStatementsMax) {
      throw new SqlRefusal('SQLITE_TOOBIG', `the batch exceeds DB_MAX_BATCH_STATEMENTS (${batchStatementsMax})`);
    }
    let json = '';
    const all = (): void => {
      for (const statement of statements) {
        const startedAt = performance.now();
        if (!Array.isArray(statement)) throw new SqlRefusal('SQLITE_MISUSE', 'a statement must be SQL text and values');
        const [sql, values] = statement as unknown[];
        const prepared = connection.prepare(textOf(sql));
        json += (json === '' ? '' : ',') + this.#result(connection, prepared, connection.run(prepared, values), startedAt);
        if (json.length > resultBytesMax) {
          throw new SqlRefusal('SQLITE_TOOBIG', `the result exceeds DB_MAX_RESULT_BYTES (${resultBytesMax})`);
        }
      }
    };
    if (connection.inTransaction) this.#nested(connection, all);
    else this.#atomic(connection, all);
    return `[${json}]`;
  }

  #exec(connection: Connection, [text]: readonly unknown[]): string {
    const startedAt = performance.now();
    const { execBytesMax, execStatementsMax } = this.#parts.limits;
    const sql = textOf(text);
    const bytes = Buffer.byteLength(sql);
    if (bytes > execBytesMax) throw new SqlRefusal('SQLITE_TOOBIG', `the SQL text exceeds DB_MAX_EXEC_BYTES (${execBytesMax})`);
    const statements = splitStatements(sql, execStatementsMax);
    for (const statement of statements) {
      try {
        const prepared = connection.compile(statement);
        this.#result(connection, prepared, connection.run(prepared, []), startedAt);
      } catch (error) {
        if (isCorruption(error)) throw error;
        const { code, message } = toRefusal(error);
        throw new SqlRefusal(code, message, [statement.line, statement.sql.slice(0, 200)]);
      }
    }
    return JSON.stringify({ n: statements.length, d: elapsed(startedAt) });
  }

  #dump(connection: Connection): Uint8Array {
    const { dumpBytesMax } = this.#parts.limits;
    if (this.#bytes > dumpBytesMax) throw new SqlRefusal('SQLITE_TOOBIG', `the database exceeds DB_MAX_DUMP_BYTES (${dumpBytesMax})`);
    return connection.serialize();
  }

  #result(connection: Connection, prepared: Prepared, run: StatementRun, startedAt: number): string {
    if (run.changed) {
      this.#touched(connection, prepared.schema);
    }
    const last = toWire(run.lastRowId as StoredValue);
    const lastJson = typeof last === 'number' ? String(last) : JSON.stringify(last);
    const numbers = `${elapsed(startedAt)},${run.rowsRead},${run.changes},${run.changes},${lastJson},${run.changed ? 1 : 0}`;
    return `{${run.json},"m":[${numbers},${this.#bytes},${this.#version},${this.#parts.shard}]}`;
  }

  #touched(connection: Connection, schema: boolean): void {
    this.#bytes = connection.bytes;
    this.#version = Math.max(this.#version + 1, Math.round(Date.now() * 1000));
    if (!schema) return;
    this.#main.forget();
    this.#second?.forget();
    if (this.#transaction !== null) this.#transaction.schema = true;
  }

  #atomic<Result>(connection: Connection, run: () => Result): Result {
    connection.own('BEGIN');
    try {
      const result = run();
      connection.own('COMMIT');
      return result;
    } catch (error) {
      if (connection.inTransaction) connection.own('ROLLBACK');
      connection.forget();
      throw error;
    }
  }

  #nested(connection: Connection, run: () => void): void {
    connection.own('SAVEPOINT platform_batch');
    try {
      run();
      connection.own('RELEASE platform_batch');
    } catch (error) {
      if (connection.inTransaction) {
        connection.own('ROLLBACK TO platform_batch');
        connection.own('RELEASE platform_batch');
      }
      throw error;
    }
  }

  #begin(owner: object): string {
    const { transactionMs } = this.#parts.limits;
    this.#second ??= this.#connect();
    this.#second.own('BEGIN IMMEDIATE');
    const id = randomInt(1, 2 ** 31);
    const timer = setTimeout(() => {
      this.#rollback(`it took longer than DB_TRANSACTION_MS (${transactionMs}) and was rolled back`);
      this.#drain();
    }, transactionMs);
    this.#transaction = { id, owner, timer, schema: false, sends: 0 };
    return `{"t":${id}}`;
  }

  #commit(connection: Connection): string {
    const sends = this.#transaction?.sends ?? 0;
    try {
      connection.own('COMMIT');
    } catch (error) {
      this.#rollback(`its commit failed: ${(error as Error).message}`);
      throw error;
    }
    this.#over('it was committed');
    return sends === 0 ? `{"m":[${this.#version}]}` : `{"m":[${this.#version}],"o":${sends}}`;
  }

  #enqueue(connection: Connection, args: readonly unknown[]): string {
    if (this.#transaction === null || connection !== this.#second)
      throw new SqlRefusal('SQLITE_MISUSE', 'messages are sent in a transaction');
    const { outboxMax } = this.#parts.limits;
    const list = outboxList(args);
    connection.own(createOutbox);
    const { length } = connection.own(insertOutbox, list, outboxMax);
    if (length === 0) {
      throw new SqlRefusal('SQLITE_FULL', `more than DB_OUTBOX_MAX (${outboxMax}) messages wait to be taken over by their queues`);
    }
    this.#touched(connection, false);
    this.#transaction.sends += length;
    return begun;
  }

  #pending(): string {
    if (this.#main.own(findOutbox).length === 0) return '{"rows":[]}';
    return JSON.stringify({ rows: outboxPage(this.#main.own(readOutbox, OUTBOX_ROWS) as [string, string][]) });
  }

  #dequeue(ids: unknown): string {
    if (this.#main.own(findOutbox).length === 0) return begun;
    // A table of the worker that refers to the outbox must not hold its rows back.
    this.#main.own('PRAGMA foreign_keys=OFF');
    try {
      this.#main.own(removeOutbox, JSON.stringify(ids));
    } finally {
      this.#main.own('PRAGMA foreign_keys=ON');
    }
    this.#touched(this.#main, false);
    return begun;
  }

  #rollback(why: string): void {
    if (this.#second?.inTransaction === true) this.#second.own('ROLLBACK');
    if (this.#transaction?.schema === true) {
      this.#main.forget();
      this.#second?.forget();
    }
    this.#bytes = this.#main.bytes;
    this.#over(why);
  }

  #over(why: string): void {
    if (this.#transaction === null) return;
    clearTimeout(this.#transaction.timer);
    this.#ended.set(this.#transaction.id, why);
    if (this.#ended.size > 64) this.#ended.delete(this.#ended.keys().next().value as number);
    if (this.#transaction.schema) this.#main.forget();
    this.#transaction = null;
  }

  #ownerOp(op: number, args: readonly unknown[]): string | Promise<string> {
    const { path } = this.#parts;
    switch (op) {
      case ops.migrate: {
        const applied = migrate(this.#main, args, this.#parts.limits);
        this.#touched(this.#main, true);
        return JSON.stringify({ applied });
      }
      case ops.pending:
        return this.#pending();
      case ops.dequeue:
        return this.#dequeue(args[0]);
      case ops.backup:
        return this.#copy(backupTo(path, textOf(args[0])).then((bytes) => JSON.stringify({ bytes })));
      case ops.branch:
        return this.#branch(this.#parts.pathOf(textOf(args[0])), args[1] === true);
      default:
        throw new SqlRefusal('SQLITE_MISUSE', `there is no operation ${op}`);
    }
  }

  /** Engines that ask for one branch at a time share it. */
  #branch(target: string, unlessThere: boolean): Promise<string> {
    const underWay = unlessThere ? this.#branches.get(target) : undefined;
    if (underWay !== undefined) return underWay;
    const { path, limits } = this.#parts;
    const copy = branchTo(this.#main, path, target, { branchBytesMax: limits.branchBytesMax, unlessThere });
    const branch = this.#copy(copy.then((made) => JSON.stringify(made)));
    this.#branches.set(target, branch);
    const over = (): void => void this.#branches.delete(target);
    branch.then(over, over);
    return branch;
  }

  #copy(copy: Promise<string>): Promise<string> {
    this.#copying++;
    return copy.finally(() => this.#copying--);
  }

  /** A connection is gone: its transaction is rolled back, and what it waits for is dropped. */
  leave(owner: object): void {
    this.#waiting = this.#waiting.filter(({ job }) => job.owner !== owner);
    if (this.#transaction?.owner !== owner) return;
    this.#rollback('its engine went away');
    this.#drain();
  }

  /** Closes the file; the last connection puts the log into it. */
  close(): void {
    if (this.#transaction !== null) this.#rollback('the database was closed');
    if (this.#waitTimer !== null) clearTimeout(this.#waitTimer);
    this.#waitTimer = null;
    for (const { job } of this.#waiting) job.answer(kinds.json, new SqlRefusal('SQLITE_ABORT', 'the database was closed').toJson());
    this.#waiting = [];
    this.#second?.close();
    this.#second = null;
    this.#main.close();
  }
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new SqlRefusal('SQLITE_MISUSE', 'SQL must be text');
  return value;
}

function elapsed(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000;
}

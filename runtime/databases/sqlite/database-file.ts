// One open database: runs requests one after the other, and holds the only interactive transaction, for which other
// writes wait. Called by the shard. This file runs SQL only through a Connection, and is independent of sockets.
import { randomInt } from 'node:crypto';
import { statSync } from 'node:fs';
import { SqlRefusal } from '#core/database-request.ts';
import { PlatformError } from '#core/errors.ts';
import { Connection } from './connection.ts';
import { checkFile, setAside } from './copies.ts';
import { kinds, ops } from '../protocol/frames.ts';
import { lookAtObject, ObjectStorage } from './object-storage.ts';
import { WriteAheadLog } from './write-ahead-log.ts';
import { putIntoOutbox } from './outbox-rows.ts';
import { OwnerOperations, type OwnerOperationsDeps } from './owner-operations.ts';
import { explainFull, isBusy, isCorruption, toRefusal } from './sqlite-errors.ts';
import { SlowStatements } from './slow-statements.ts';
import { Statements } from './statements.ts';

/** A request for a database. */
export interface Job {
  readonly op: number;
  /** Transaction of the request; 0 if there is none. */
  readonly transaction: number;
  readonly args: readonly unknown[];
  /** Connection of the request: transactions that are left open end with it. */
  readonly owner: object;
  /** Statements of a script that are applied; it continues after them. */
  applied: number;
  /** Called once. */
  answer(kind: number, payload: string | Uint8Array): void;
  /** Marks the time in which SQL of the job runs. */
  begin(): void;
  /** From here on, it is not stopped for its time or memory: it is complete, and would be repeated. */
  settle(): void;
  end(): void;
}

/** Dependencies of a database file. */
interface DatabaseFileDeps extends OwnerOperationsDeps {
  readonly synchronous: 'normal' | 'full';
  /** Number of the process, for `meta.served_by`. */
  readonly shard: number;
  /** The file is damaged, and was closed. */
  damaged(): void;
  /** Called when the request changed the content. */
  changed(): void;
  /** Reports a message for the operator. */
  report(message: string): void;
}

interface Transaction {
  readonly id: number;
  readonly owner: object;
  readonly timer: NodeJS.Timeout;
  schema: boolean;
  /** Number of messages that the request adds to the outbox. */
  sends: number;
}

interface Waiting {
  readonly job: Job;
  readonly until: number;
}

/** Pause before checking again whether another process still writes. */
const [HELD_PAUSE_MS, HELD_PAUSE_MS_MAX] = [5, 100];
const begun = '{}';
const alone = new Set<number>([ops.batch, ops.exec, ops.begin, ops.migrate, ops.branch, ops.dequeue]);

export class DatabaseFile {
  readonly #deps: DatabaseFileDeps;
  readonly #main: Connection;
  readonly #statements: Statements;
  readonly #slow: SlowStatements;
  readonly #log = new WriteAheadLog();
  readonly #owner: OwnerOperations;
  /** The storage of a durable object; its first request creates this. */
  #object: ObjectStorage | null = null;
  /** The connection that holds the object. */
  #holder: object | null = null;
  /** Bytes recorded in its organization's account. */
  #noted: number;
  /**
   * For interactive transactions: other requests read the committed state through the main connection in the meantime.
   */
  #second: Connection | null = null;
  #transaction: Transaction | null = null;
  readonly #ended = new Map<number, string>();
  #waiting: Waiting[] = [];
  #waitTimer: NodeJS.Timeout | null = null;
  /** Another process, an import, writes to the file: no writes are attempted until this timer fires. */
  #heldTimer: NodeJS.Timeout | null = null;
  #heldPauseMs = HELD_PAUSE_MS;

  /** @throws {PlatformError} `database_corrupt` for a damaged file, which is set aside. */
  constructor(deps: DatabaseFileDeps) {
    this.#deps = deps;
    checkFile(deps.path, deps.limits.checkBytesMax, deps.report);
    this.#main = this.#connect();
    this.#slow = new SlowStatements(deps.limits.slowStatementMs);
    this.#statements = new Statements({
      slow: this.#slow,
      limits: deps.limits,
      shard: deps.shard,
      bytes: this.#main.bytes,
      version: Math.round(statSync(deps.path).mtimeMs * 1000),
      schemaChanged: () => {
        this.#main.forget();
        this.#second?.forget();
        if (this.#transaction !== null) this.#transaction.schema = true;
      },
    });
    this.#owner = new OwnerOperations(deps, this.#main, this.#statements);
    this.#noted = this.#statements.bytes;
  }

  get isIdle(): boolean {
    return (
      this.#transaction === null &&
      this.#object?.isOpen !== true &&
      this.#waiting.length === 0 &&
      !this.#owner.isCopying
    );
  }

  #connect(): Connection {
    try {
      return new Connection(this.#deps);
    } catch (error) {
      if (!isCorruption(error)) throw error;
      throw setAside(this.#deps.path, (error as Error).message, this.#deps.report);
    }
  }

  /** Accepts a job; its response may come later. */
  take(job: Job): void {
    if (this.#mustWait(job)) {
      this.#wait(job);
      return;
    }
    this.#perform(job);
    if (this.#waiting.length > 0 && !this.#isTaken) this.#drain();
  }

  /** Another transaction or process is writing. */
  get #isTaken(): boolean {
    return this.#transaction !== null || this.#heldTimer !== null;
  }

  #mustWait(job: Job): boolean {
    if (!this.#isTaken || job.transaction !== 0) return false;
    if (alone.has(job.op)) return true;
    if (job.op !== ops.query) return false;
    // Compiling may take as long as running.
    job.begin();
    try {
      const prepared = this.#main.prepareOrSplit(String(job.args[0]));
      return Array.isArray(prepared) || prepared.writes;
    } catch {
      // The error is reported in the turn of its request.
      return false;
    } finally {
      job.end();
    }
  }

  #wait(job: Job): void {
    const { waitingMax, waitMs } = this.#deps.limits;
    if (this.#waiting.length >= waitingMax) {
      const message = `more than ${waitingMax} requests wait for a transaction of this database`;
      job.answer(kinds.json, new SqlRefusal('SQLITE_BUSY', message).toJson());
      return;
    }
    this.#waiting.push({ job, until: performance.now() + waitMs });
    this.#waitTimer ??= setTimeout(() => this.#giveUp(), waitMs);
  }

  /** The first waiting job tries again in a moment; other jobs of this process are served in the meantime. */
  #hold(first: Waiting): void {
    this.#waiting.unshift(first);
    this.#waitTimer ??= setTimeout(() => this.#giveUp(), this.#deps.limits.waitMs);
    this.#heldTimer = setTimeout(() => {
      this.#heldTimer = null;
      this.#drain();
    }, this.#heldPauseMs);
    this.#heldPauseMs = Math.min(HELD_PAUSE_MS_MAX, 2 * this.#heldPauseMs);
  }

  #giveUp(): void {
    this.#waitTimer = null;
    const now = performance.now();
    const late = this.#waiting.filter(({ until }) => until <= now);
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    const message = `database is locked: a transaction took longer than ${this.#deps.limits.waitMs} ms`;
    for (const { job } of late) job.answer(kinds.json, new SqlRefusal('SQLITE_BUSY', message).toJson());
    const next = this.#waiting[0];
    if (next !== undefined) this.#waitTimer = setTimeout(() => this.#giveUp(), next.until - now + 1);
  }

  #drain(): void {
    if (this.#isTaken) return;
    const turn = this.#waiting;
    this.#waiting = [];
    for (const [index, { job, until }] of turn.entries()) {
      if (this.#isTaken) {
        this.#waiting.push(...turn.slice(index));
        break;
      }
      this.#perform(job, until);
    }
    if (this.#heldTimer === null) this.#heldPauseMs = HELD_PAUSE_MS;
    if (this.#waiting.length === 0 && this.#waitTimer !== null) {
      clearTimeout(this.#waitTimer);
      this.#waitTimer = null;
    }
  }

  /**
   * Size limit of the file: its current size on a full disk, otherwise its size plus its organization's remaining
   * storage.
   */
  get #bytesMax(): number {
    const { space, storage, namespace } = this.#deps;
    return space.isLow ? 0 : this.#statements.bytes + storage.left(namespace);
  }

  /** Records the change in the organization's account. */
  #note(): void {
    const { bytes } = this.#statements;
    if (bytes === this.#noted) return;
    this.#deps.storage.note(this.#deps.namespace, bytes - this.#noted);
    this.#noted = bytes;
  }

  #perform(job: Job, until?: number): void {
    let kind: number = kinds.json;
    let payload: string | Uint8Array | Promise<string>;
    job.begin();
    const { version } = this.#statements;
    const begunAt = performance.now();
    try {
      payload = this.#run(job);
      job.settle();
      if (this.#statements.version !== version) {
        this.#log.changed(this.#main, performance.now() - begunAt);
        this.#deps.changed();
      }
      if (payload instanceof Uint8Array) kind = kinds.bytes;
    } catch (error) {
      if (isBusy(error) && (until === undefined || performance.now() < until)) {
        // Another process holds the file: an import, or a manual copy for a short time.
        this.#hold({ job, until: until ?? performance.now() + this.#deps.limits.waitMs });
        return;
      }
      [kind, payload] = this.#failure(error);
    } finally {
      job.end();
      this.#note();
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
      this.#deps.damaged();
      const corrupt = setAside(this.#deps.path, (error as Error).message, this.#deps.report);
      return [kinds.failure, JSON.stringify([corrupt.code, corrupt.details])];
    }
    try {
      const { limits, space, storage, namespace } = this.#deps;
      const full = !space.isLow && this.#bytesMax < limits.databaseBytesMax ? storage.refusal(namespace) : null;
      return [kinds.json, explainFull(toRefusal(error), full).toJson()];
    } catch {
      this.#deps.report(`a request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
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
    connection.bytesMax =
      op === ops.steps ? Math.min(this.#bytesMax, this.#deps.limits.objectBytesMax) : this.#bytesMax;
    // A batch has its own savepoint, which its statements must not release.
    connection.savepoints = op === ops.query && transaction !== 0;
    switch (op) {
      case ops.query:
        return this.#statements.query(connection, args);
      case ops.batch:
        return this.#statements.batch(connection, args, () => job.settle());
      case ops.exec:
        return this.#statements.exec(connection, args, job);
      case ops.dump:
        return this.#statements.dump(connection);
      case ops.begin:
        return this.#begin(job.owner);
      case ops.commit:
        return this.#commit(connection);
      case ops.rollback:
        this.#rollback('it was rolled back');
        return begun;
      case ops.enqueue:
        return this.#enqueue(connection, args);
      case ops.steps:
        this.#holder = job.owner;
        return this.#objectStorage().run(args);
      case ops.look:
        return lookAtObject(this.#main);
      case ops.describe:
        return JSON.stringify({ bytes: connection.bytes, path: this.#deps.path });
      case ops.slow:
        return JSON.stringify({ statements: this.#slow.list() });
      default:
        return this.#owner.run(op, args);
    }
  }

  #objectStorage(): ObjectStorage {
    this.#main.hidesOwnTables = true;
    this.#object ??= new ObjectStorage({
      connection: this.#main,
      limits: this.#deps.limits,
      touched: (schema) => this.#statements.touched(this.#main, schema),
      undone: () => this.#statements.undone(this.#main.bytes),
    });
    return this.#object;
  }

  #connectionOf(transaction: number, owner: object): Connection {
    if (this.#transaction?.id === transaction && this.#transaction.owner === owner && this.#second !== null)
      return this.#second;
    const why =
      this.#ended.get(transaction) ?? 'it is unknown here, such as after the database was restored: try again';
    throw new SqlRefusal('SQLITE_ABORT', `the transaction has ended: ${why}`);
  }

  #begin(owner: object): string {
    const { transactionMs } = this.#deps.limits;
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
    this.#deps.changed();
    return sends === 0 ? `{"m":[${this.#statements.version}]}` : `{"m":[${this.#statements.version}],"o":${sends}}`;
  }

  #enqueue(connection: Connection, args: readonly unknown[]): string {
    if (this.#transaction === null || connection !== this.#second)
      throw new SqlRefusal('SQLITE_MISUSE', 'messages are sent in a transaction');
    const count = putIntoOutbox(connection, args, this.#deps.limits);
    this.#statements.touched(connection, false);
    this.#transaction.sends += count;
    return begun;
  }

  #rollback(why: string): void {
    if (this.#second?.inTransaction === true) this.#second.own('ROLLBACK');
    if (this.#transaction?.schema === true) {
      this.#main.forget();
      this.#second?.forget();
    }
    this.#statements.undone(this.#main.bytes);
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

  /** A connection has closed: its transaction is rolled back, and its waiting jobs are dropped. */
  leave(owner: object): void {
    this.#waiting = this.#waiting.filter(({ job }) => job.owner !== owner);
    if (this.#holder === owner) this.#object?.undo();
    if (this.#transaction?.owner !== owner) return;
    this.#rollback('its engine went away');
    this.#drain();
  }

  /** Closes the file; the last connection checkpoints the log. */
  close(): void {
    if (this.#transaction !== null) this.#rollback('the database was closed');
    this.#object?.undo();
    if (this.#waitTimer !== null) clearTimeout(this.#waitTimer);
    this.#waitTimer = null;
    if (this.#heldTimer !== null) clearTimeout(this.#heldTimer);
    this.#heldTimer = null;
    for (const { job } of this.#waiting)
      job.answer(kinds.json, new SqlRefusal('SQLITE_ABORT', 'the database was closed or replaced: try again').toJson());
    this.#waiting = [];
    this.#second?.close();
    this.#second = null;
    this.#main.close();
  }
}

// One open database: runs requests one after the other; writes wait for the only interactive transaction. Called by the
// shard. This file runs SQL only through a Connection, and is independent of sockets.
import { statSync } from 'node:fs';
import { PlatformError } from '#core/errors.ts';
import { Connection } from './connection.ts';
import { checkFile, setAside } from './copies.ts';
import { kinds, ops } from '../protocol/frames.ts';
import { InteractiveTransaction } from './interactive-transaction.ts';
import type { Job } from './job.ts';
import { lookAtObject, ObjectStorage } from './object-storage.ts';
import { OwnerOperations, type OwnerOperationsDeps } from './owner-operations.ts';
import { explainFull, isBusy, isCorruption, toRefusal } from './sqlite-errors.ts';
import { SlowStatements } from './slow-statements.ts';
import { Statements } from './statements.ts';
import { WaitingJobs } from './waiting-jobs.ts';
import { WriteAheadLog } from './write-ahead-log.ts';

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

const alone = new Set<number>([ops.batch, ops.exec, ops.begin, ops.migrate, ops.branch, ops.dequeue]);

export class DatabaseFile {
  readonly #deps: DatabaseFileDeps;
  readonly #main: Connection;
  readonly #statements: Statements;
  readonly #slow: SlowStatements;
  readonly #log = new WriteAheadLog();
  readonly #owner: OwnerOperations;
  /** The storage of a durable object, which the object's first request creates. */
  #object: ObjectStorage | null = null;
  /** The connection that last ran steps on the object's storage. */
  #holder: object | null = null;
  /** Bytes that are recorded in the account of the database's organization. */
  #noted: number;
  readonly #transaction: InteractiveTransaction;
  readonly #waiting: WaitingJobs;

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
      schemaChanged: () => this.#transaction.schemaChanged(),
    });
    this.#transaction = new InteractiveTransaction({
      limits: deps.limits,
      main: this.#main,
      statements: this.#statements,
      connect: () => this.#connect(),
      changed: () => deps.changed(),
      ended: () => this.#waiting.drain(),
    });
    this.#waiting = new WaitingJobs({
      limits: deps.limits,
      isInTransaction: () => this.#transaction.isOpen,
      perform: (job, until) => this.#perform(job, until),
    });
    this.#owner = new OwnerOperations(deps, this.#main, this.#statements);
    this.#noted = this.#statements.bytes;
  }

  get isIdle(): boolean {
    return (
      !this.#transaction.isOpen && this.#object?.isOpen !== true && this.#waiting.isEmpty && !this.#owner.isCopying
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
      this.#waiting.add(job);
      return;
    }
    this.#perform(job);
    if (!this.#waiting.isEmpty) this.#waiting.drain();
  }

  #mustWait(job: Job): boolean {
    if (!this.#waiting.isTaken || job.transaction !== 0) return false;
    if (alone.has(job.op)) return true;
    if (job.op !== ops.query) return false;
    // Compiling a statement may take as long as running it.
    job.begin();
    try {
      const prepared = this.#main.prepareOrSplit(String(job.args[0]));
      return Array.isArray(prepared) || prepared.writes;
    } catch {
      // The error is reported when the request runs.
      return false;
    } finally {
      job.end();
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
        this.#waiting.hold(job, until);
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
    const connection = transaction === 0 ? this.#main : this.#transaction.connectionOf(transaction, job.owner);
    connection.bytesMax =
      op === ops.steps ? Math.min(this.#bytesMax, this.#deps.limits.objectBytesMax) : this.#bytesMax;
    // Only single statements in a transaction may use savepoints: a batch has its own, which its statements must not
    // release.
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
        return this.#transaction.begin(job.owner);
      case ops.commit:
        return this.#transaction.commit(connection);
      case ops.rollback:
        this.#transaction.rollback('it was rolled back');
        return '{}';
      case ops.enqueue:
        this.#transaction.enqueue(connection, args);
        return '{}';
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

  /** A connection has closed: its transaction is rolled back, and its waiting jobs are dropped. */
  leave(owner: object): void {
    this.#waiting.drop(owner);
    if (this.#holder === owner) this.#object?.undo();
    this.#transaction.leave(owner);
  }

  /** Closes the file; the last connection checkpoints the log. */
  close(): void {
    if (this.#transaction.isOpen) this.#transaction.rollback('the database was closed');
    this.#object?.undo();
    this.#waiting.close();
    this.#transaction.close();
    this.#main.close();
  }
}

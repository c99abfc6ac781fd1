// A database file whose log is read without losses: one of two read transactions is always open, so SQLite does not
// overwrite unread frames of the log. The next transaction begins before the previous one ends. Called by stream.ts; it
// runs no SQL of tenants and compiles no schema.
//
// Both connections are read-only. As the last connections to close, they therefore do not delete the log, which may
// belong to another file of the same name by then. `content` stays open for as long as they do: closing any descriptor
// of a file ends all locks that the process has on it.
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { withPathLock } from '../sqlite/path-lock.ts';
import { readLog, type LogPart, type LogPosition, type LogProblem } from './log-file.ts';

const BUSY_MS = 50;
/** Offset of the two header bytes that mark a file with a write-ahead log. */
const FORMAT_AT = 18;

export class PinnedFile {
  readonly path: string;
  /** Descriptor of the file itself. */
  readonly content: number;
  readonly inode: bigint;
  readonly #connections: DatabaseSync[] = [];
  #active = 0;

  private constructor(path: string, content: number) {
    this.path = path;
    this.content = content;
    this.inode = fstatSync(content, { bigint: true }).ino;
    try {
      for (let index = 0; index < 2; index++)
        this.#connections.push(new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS }));
      // Opens the log now rather than later.
      for (let index = 1; index >= 0; index--) this.#begin(index);
      this.settle();
      if (!this.isCurrent) throw new Error('the file was replaced');
    } catch (error) {
      for (const connection of this.#connections) connection.close();
      throw error;
    }
  }

  /**
   * @returns null for a file that has no write-ahead log yet: it was never opened. @throws {Error} when the file is
   * being replaced.
   */
  static open(path: string): PinnedFile | null {
    const opened = withPathLock(path, 0, () => ({ file: PinnedFile.#open(path) }));
    if (opened === null) throw new Error('the file is being replaced');
    return opened.file;
  }

  static #open(path: string): PinnedFile | null {
    const content = openSync(path, 'r');
    const format = Buffer.alloc(2);
    if (readSync(content, format, 0, 2, FORMAT_AT) < 2 || format[0] !== 2 || format[1] !== 2) {
      closeSync(content);
      return null;
    }
    try {
      return new PinnedFile(path, content);
    } catch (error) {
      closeSync(content);
      throw error;
    }
  }

  /** Whether the path still refers to this file. */
  get isCurrent(): boolean {
    return statSync(this.path, { bigint: true, throwIfNoEntry: false })?.ino === this.inode;
  }

  #begin(index: number): void {
    const connection = this.#connections[index] as DatabaseSync;
    connection.exec('BEGIN');
    try {
      // The first read determines the snapshot of the transaction.
      connection.prepare('PRAGMA schema_version').get();
    } catch (error) {
      connection.exec('ROLLBACK');
      throw error;
    }
  }

  /** Begins the next read transaction; the previous one stays open until {@link settle}. */
  step(): void {
    this.settle();
    this.#begin(1 - this.#active);
    this.#active = 1 - this.#active;
  }

  /** Ends the read transaction before the last step. */
  settle(): void {
    const before = this.#connections[1 - this.#active] as DatabaseSync;
    if (before.isTransaction) before.exec('ROLLBACK');
  }

  /** The changes in the log of the database after a position. */
  read(from: LogPosition | null, framesMax: number): LogPart | LogProblem | null {
    const log = this.openLog();
    if (log === null) return null;
    try {
      return readLog(log, from, framesMax);
    } finally {
      closeSync(log);
    }
  }

  /**
   * Moves the complete log into the file and empties it. Frames that were not read are lost.
   *
   * @returns false if another process reads or writes.
   */
  emptyLog(): boolean {
    return withPathLock(this.path, 0, () => this.isCurrent && this.#emptyLog()) === true;
  }

  #emptyLog(): boolean {
    const mover = new DatabaseSync(this.path, { timeout: BUSY_MS, defensive: true });
    try {
      mover.exec('PRAGMA wal_checkpoint(PASSIVE)');
      // A reader does not need the log if the file contains all of its frames.
      this.step();
      this.settle();
      return (mover.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }).busy === 0;
    } finally {
      mover.close();
    }
  }

  /** Descriptor of its log, which the caller closes; SQLite has no locks on it. */
  openLog(): number | null {
    try {
      return openSync(`${this.path}-wal`, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  /**
   * Runs `work` while no other process can write. The writable connection is closed before the read-only ones, so it
   * does not delete the log either.
   *
   * @returns null if another transaction is writing, or the file is being replaced.
   */
  whileStill<Result>(work: (move: () => boolean) => Result): Result | null {
    return withPathLock(this.path, 0, () => this.#whileStill(work));
  }

  #whileStill<Result>(work: (move: () => boolean) => Result): Result | null {
    if (!this.isCurrent) throw new Error('the file was replaced');
    const [writer, mover] = [0, 1].map(() => new DatabaseSync(this.path, { timeout: BUSY_MS, defensive: true })) as [
      DatabaseSync,
      DatabaseSync,
    ];
    // Moves the whole log into the file; false if a reader still uses an older state.
    const move = (): boolean => {
      const found = mover.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number; checkpointed: number };
      return found.log === found.checkpointed;
    };
    try {
      mover.exec('PRAGMA wal_autocheckpoint=0');
      writer.exec('PRAGMA wal_autocheckpoint=0');
      // Moves most of the log while others may write.
      move();
      try {
        writer.exec('BEGIN IMMEDIATE');
      } catch (error) {
        if (((error as { errcode?: number }).errcode ?? 0) % 256 === 5) return null;
        throw error;
      }
      return work(move);
    } finally {
      if (writer.isTransaction) writer.exec('ROLLBACK');
      writer.close();
      mover.close();
    }
  }

  close(): void {
    for (const connection of this.#connections.splice(0)) connection.close();
    closeSync(this.content);
  }
}

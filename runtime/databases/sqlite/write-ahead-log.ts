// Moves the write-ahead log of a database into its file when it is long. SQLite itself would move the log during a
// commit. If the process is killed then, the transaction is committed, but its client repeats it. Called by
// database-file.ts.
import type { Connection } from './connection.ts';

/** Number of pages after which SQLite also moves the log. */
const PAGES = 1000;
/** Number of changes after which the log is checked; a check costs as much as a short statement. */
const CHANGES = 16;
/** A change that took longer than this may have written that many pages. */
const LONG_MS = 2;

export class WriteAheadLog {
  #changes = 0;

  /** Called after a request changed the database, with its duration. */
  changed(connection: Connection, tookMs: number): void {
    this.#changes++;
    if (this.#changes < CHANGES && tookMs < LONG_MS) return;
    this.#changes = 0;
    try {
      // While there is a reader, such as the replicator, the log continues after the part that is in the file.
      const [, pages, moved] = connection.own('PRAGMA wal_checkpoint(NOOP)')[0] as number[];
      if (pages! - moved! >= PAGES) connection.own('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The disk is full: as with SQLite's own checkpoints, the next checkpoint tries again.
    }
  }
}

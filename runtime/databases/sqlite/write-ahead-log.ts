// Moves the write-ahead log of a database into its file when it is long. SQLite itself would do so within a commit: a
// process that is ended then has committed what its client repeats. Called by database-file.ts.
import type { Connection } from './connection.ts';

/** Pages after which SQLite does it, too. */
const PAGES = 1000;
/** Changes after which the log is looked at, which costs as much as a short statement. */
const CHANGES = 16;
/** A change that took longer may have written as much. */
const LONG_MS = 2;

export class WriteAheadLog {
  #changes = 0;

  /** A request has changed the database, within a time. */
  changed(connection: Connection, tookMs: number): void {
    this.#changes++;
    if (this.#changes < CHANGES && tookMs < LONG_MS) return;
    this.#changes = 0;
    try {
      // Behind a reader, such as the replicator, the log goes on after what is in the file.
      const [, pages, moved] = connection.own('PRAGMA wal_checkpoint(NOOP)')[0] as number[];
      if (pages! - moved! >= PAGES) connection.own('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The disk is full: as with SQLite's own checkpoints, the next one tries again.
    }
  }
}

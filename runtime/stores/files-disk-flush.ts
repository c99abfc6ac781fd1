// Makes commits of a SQLite file durable without blocking the main thread. Used by files-disk.ts.
import { open, type FileHandle } from 'node:fs/promises';

/** Resolves when all commits before the call are durable. */
export interface Flush {
  (): Promise<void>;
  close(): void;
}

/**
 * All callers that arrive while a sync of SQLite's log is in progress share the next sync.
 *
 * @param log path of the write-ahead log.
 */
export function createFlush(log: string): Flush {
  let file: Promise<FileHandle> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | null = null;
  async function sync(): Promise<void> {
    // The log exists from the first commit until the last process closes the index.
    file ??= open(log, 'r+');
    await (await file).datasync();
  }
  const flushed = (): Promise<void> => {
    next ??= last.then(() => {
      next = null;
      const syncing = sync();
      last = syncing.catch(() => {});
      return syncing;
    });
    return next;
  };
  return Object.assign(flushed, { close: () => void file?.then((handle) => handle.close()).catch(() => {}) });
}

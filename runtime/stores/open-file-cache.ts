// A cache that keeps recently read files open, for files that never change. Only small files are cached, because an
// open file that is deleted keeps its disk space. Opening and closing a file on other threads costs as much as reading
// it, and recently read data is in memory, so it can be read on this thread.
import { readSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Larger files are not cached. */
export const CACHED_BYTES_MAX = 1024 * 1024;
const FILES_MAX = 128;
/** How long the system is assumed to keep a read file in memory. */
const WARM_MS = 5000;

interface Entry {
  readonly file: FileHandle;
  users: number;
  isEvicted: boolean;
  readAt: number;
}

/** A file that is in use. */
export interface CachedFile {
  /** Reads from the file. @returns the number of bytes; a promise if it waits for the disk. */
  read(bytes: Uint8Array, at: number, length: number, position: number): number | Promise<number>;
  /** Call once. */
  close(): void;
}

/** The open files of one process. */
export class OpenFileCache {
  // The files in order of use, least recently used first.
  #files = new Map<string, Entry>();
  #isClosed = false;

  /** Opens a file. @throws {Error} of the system, when the file cannot be opened. */
  async open(path: string): Promise<CachedFile> {
    const known = this.#files.get(path);
    if (known !== undefined) {
      this.#files.delete(path);
      this.#files.set(path, known);
      return this.#use(known);
    }
    const entry: Entry = { file: await open(path), users: 0, isEvicted: false, readAt: -Infinity };
    const used = this.#use(entry);
    if (this.#isClosed || this.#files.has(path)) entry.isEvicted = true;
    else this.#files.set(path, entry);
    if (this.#files.size > FILES_MAX) this.forget(this.#files.keys().next().value as string);
    return used;
  }

  /** Called when the file is deleted, so that its space must be freed. */
  forget(path: string): void {
    const entry = this.#files.get(path);
    if (entry === undefined) return;
    this.#files.delete(path);
    entry.isEvicted = true;
    if (entry.users === 0) void entry.file.close().catch(() => {});
  }

  close(): void {
    this.#isClosed = true;
    for (const path of this.#files.keys()) this.forget(path);
  }

  #use(entry: Entry): CachedFile {
    entry.users++;
    return {
      read(bytes, at, length, position) {
        const isWarm = performance.now() - entry.readAt < WARM_MS;
        if (isWarm) return readSync(entry.file.fd, bytes, at, length, position);
        return entry.file.read(bytes, at, length, position).then(({ bytesRead }) => {
          entry.readAt = performance.now();
          return bytesRead;
        });
      },
      close() {
        if (--entry.users === 0 && entry.isEvicted) void entry.file.close().catch(() => {});
      },
    };
  }
}

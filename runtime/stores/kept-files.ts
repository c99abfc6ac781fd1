// Files that were read a moment ago, kept open: small ones only, since an open file that is deleted keeps its space.
// Opening and closing one, on other threads, cost as much as reading it; and what was read a moment ago lies in memory,
// so that it need not be read on another thread. For files that never change.
import { readSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Larger files are not kept. */
export const keptBytesMax = 1024 * 1024;
const filesMax = 128;
/** How long a file that was read counts as lying in memory. */
const warmMs = 5000;

interface Kept {
  readonly file: FileHandle;
  users: number;
  isEvicted: boolean;
  readAt: number;
}

/** A file in use. */
export interface KeptFile {
  /** @returns how many bytes were read; a promise where it waits for the disk. */
  read(bytes: Uint8Array, at: number, length: number, position: number): number | Promise<number>;
  /** To be called once. */
  close(): void;
}

/** Files of one process. */
export class KeptFiles {
  // Its order is that of use, the longest unused first.
  #files = new Map<string, Kept>();
  #isClosed = false;

  /** @throws {Error} of the system, when the file cannot be opened. */
  async open(path: string): Promise<KeptFile> {
    const known = this.#files.get(path);
    if (known !== undefined) {
      this.#files.delete(path);
      this.#files.set(path, known);
      return this.#use(known);
    }
    const kept: Kept = { file: await open(path), users: 0, isEvicted: false, readAt: -Infinity };
    const used = this.#use(kept);
    if (this.#isClosed || this.#files.has(path)) kept.isEvicted = true;
    else this.#files.set(path, kept);
    if (this.#files.size > filesMax) this.forget(this.#files.keys().next().value as string);
    return used;
  }

  /** The file is deleted, and its space has to be free. */
  forget(path: string): void {
    const kept = this.#files.get(path);
    if (kept === undefined) return;
    this.#files.delete(path);
    kept.isEvicted = true;
    if (kept.users === 0) void kept.file.close().catch(() => {});
  }

  close(): void {
    this.#isClosed = true;
    for (const path of this.#files.keys()) this.forget(path);
  }

  #use(kept: Kept): KeptFile {
    kept.users++;
    return {
      read(bytes, at, length, position) {
        const isWarm = performance.now() - kept.readAt < warmMs;
        if (isWarm) return readSync(kept.file.fd, bytes, at, length, position);
        return kept.file.read(bytes, at, length, position).then(({ bytesRead }) => {
          kept.readAt = performance.now();
          return bytesRead;
        });
      },
      close() {
        if (--kept.users === 0 && kept.isEvicted) void kept.file.close().catch(() => {});
      },
    };
  }
}

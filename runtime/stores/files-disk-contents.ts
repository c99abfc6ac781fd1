// The bytes of files-disk.ts: each content is a separate file under a random name, written once and never changed.
// Independent of keys; a caller whose content another process deletes before it is open gets ENOENT, and reads its
// index again.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { FreeSpace } from '#core/process/free-space.ts';
import { freeBuffer } from '#core/free-buffers.ts';
import type { FileBody, FileWrite } from '../engine/bindings/files.ts';
import { createDigests } from './file-digests.ts';
import { CACHED_BYTES_MAX, OpenFileCache, type CachedFile } from './open-file-cache.ts';

/** One content, or one of several contents that form a file. */
export interface Content {
  readonly name: string;
  readonly size: number;
}

/**
 * How many contents of one body are opened before it is read. Further contents must be kept for a while after the file
 * is deleted.
 */
export const OPEN_AT_ONCE = 64;
const CHUNK_BYTES = 256 * 1024;
/** Small chunks of a stream are written together, because each write is a task of another thread. */
const GATHERED_BYTES_MIN = 512 * 1024;
const ORPHAN_MS = 24 * 60 * 60 * 1000;

/** The contents in a folder. */
export interface Contents {
  /**
   * Writes a content, which is durable when it resolves. The bytes of a body belong to this function, which frees them.
   *
   * @param note called before bytes are written, and with a negative number when they are deleted again; may throw.
   * @throws {PlatformError} `invalid_argument` for a digest that differs or too many bytes.
   */
  write(
    body: Readable | Uint8Array,
    bytesMax: number,
    note: (bytes: number) => void,
    digests?: FileWrite['digests'],
  ): Promise<Content & { readonly md5: string }>;
  /**
   * Reads several contents as one stream; the first contents are open when it resolves. @throws {Error} ENOENT when one
   * of these contents was deleted.
   */
  read(contents: readonly Content[], offset: number, length: number): Promise<FileBody>;
  /** Deletes contents. A reader that has opened them can read them to the end. */
  drop(contents: readonly Content[]): Promise<void>;
  /** Removes what a crash has left behind: unknown contents that are older than a day. */
  sweep(known: ReadonlySet<string>): void;
  close(): void;
}

/** Opens the folder, and creates it if necessary. */
export function openContents(folder: string, now: () => number, space: FreeSpace): Contents {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (name: string): string => join(folder, name.slice(0, 2), name);
  const kept = new OpenFileCache();

  async function create(): Promise<{ name: string; file: FileHandle }> {
    const name = randomBytes(16).toString('hex');
    try {
      return { name, file: await open(pathOf(name), 'wx', 0o600) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      mkdirSync(join(folder, name.slice(0, 2)), { recursive: true, mode: 0o700 });
      return { name, file: await open(pathOf(name), 'wx', 0o600) };
    }
  }

  return {
    async write(body, bytesMax, note, digests = {}) {
      space.check();
      let noted = 0;
      const take = (bytes: number): void => {
        note(bytes);
        noted += bytes;
      };
      const whole = body instanceof Uint8Array ? body : null;
      if (whole !== null) take(whole.byteLength);
      const { name, file } = await create();
      const md5 = createHash('md5');
      const others = createDigests(digests);
      let size = 0;
      let writing: Promise<void> = Promise.resolve();
      try {
        let gathered: Uint8Array[] = [];
        let gatheredBytes = 0;
        const writeGathered = async (): Promise<void> => {
          space.check();
          take(gatheredBytes);
          await writing;
          writing = writeAll(file, gathered, freeBuffer);
          writing.catch(() => {});
          gathered = [];
          gatheredBytes = 0;
        };
        for await (const chunk of whole === null ? (body as AsyncIterable<Uint8Array>) : [whole]) {
          size += chunk.byteLength;
          if (size > bytesMax)
            throw new PlatformError('invalid_argument', { reason: `The file is larger than ${bytesMax} bytes` });
          // Another thread writes, while this thread computes the digest with pauses for other work, because a megabyte
          // takes 2 ms.
          if (whole === null) {
            gathered.push(chunk);
            gatheredBytes += chunk.byteLength;
          } else {
            writing = writeAll(file, [whole]);
            writing.catch(() => {});
          }
          for (let at = 0; at < chunk.byteLength; at += CHUNK_BYTES) {
            if (at > 0) await new Promise((resolve) => setImmediate(resolve));
            const piece = chunk.byteLength > CHUNK_BYTES ? chunk.subarray(at, at + CHUNK_BYTES) : chunk;
            md5.update(piece);
            others.update(piece);
          }
          if (gatheredBytes >= GATHERED_BYTES_MIN) await writeGathered();
        }
        if (gatheredBytes > 0) await writeGathered();
        await writing;
        // The content is only added when it is written and its digest is known.
        if (whole !== null) freeBuffer(whole);
        await file.datasync();
        const etag = md5.digest('hex');
        others.check({ md5: etag });
        await file.close();
        return { name, size, md5: etag };
      } catch (error) {
        await writing.catch(() => {});
        await file.close().catch(() => {});
        await remove(pathOf(name));
        note(-noted);
        throw full(error);
      }
    },

    async read(contents, offset, length) {
      const slices: Slice[] = [];
      const [first] = contents;
      const isKept = contents.length === 1 && first!.size <= CACHED_BYTES_MAX;
      let skip = offset;
      let left = length;
      for (const { name, size } of contents) {
        if (left > 0 && skip < size) {
          const take = Math.min(size - skip, left);
          slices.push({ path: pathOf(name), at: skip, left: take, file: null });
          left -= take;
        }
        skip = Math.max(0, skip - size);
      }
      const body = new DiskBody(slices, length);
      try {
        for (const slice of slices.slice(0, OPEN_AT_ONCE))
          slice.file = isKept ? await kept.open(slice.path) : await openAlone(slice.path);
      } catch (error) {
        body.destroy();
        throw error;
      }
      return body;
    },

    async drop(contents) {
      for (const { name } of contents) {
        kept.forget(pathOf(name));
        await remove(pathOf(name));
      }
    },

    sweep(known) {
      for (const group of readdirSync(folder)) {
        for (const name of readdirSync(join(folder, group))) {
          if (known.has(name)) continue;
          const found = statSync(pathOf(name), { throwIfNoEntry: false });
          if (found !== undefined && now() - found.mtimeMs > ORPHAN_MS) rmSync(pathOf(name), { force: true });
        }
      }
    },

    close: () => kept.close(),
  };
}

interface Slice {
  readonly path: string;
  at: number;
  left: number;
  file: CachedFile | null;
}

async function openAlone(path: string): Promise<CachedFile> {
  const file = await open(path);
  return {
    read: async (...where) => (await file.read(...where)).bytesRead,
    // If a file is being read, it is closed afterwards.
    close: () => void file.close().catch(() => {}),
  };
}

/** Reads slices of files, one after the other. */
class DiskBody extends Readable implements FileBody {
  #slices: Slice[];
  #bytes: number;

  constructor(slices: Slice[], bytes: number) {
    super({ highWaterMark: CHUNK_BYTES });
    this.#slices = slices;
    this.#bytes = bytes;
  }

  async whole(): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafeSlow(this.#bytes);
    try {
      for (let at = 0; at < bytes.byteLength;) {
        const count = this.#fill(bytes, at);
        at += typeof count === 'number' ? count : await count;
      }
    } finally {
      this.destroy();
    }
    return bytes;
  }

  override _read(): void {
    const slice = this.#slices[0];
    if (slice === undefined) {
      this.push(null);
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, slice.left));
    Promise.resolve(this.#fill(bytes, 0)).then(
      (count) => {
        if (!this.destroyed) this.push(count < bytes.byteLength ? bytes.subarray(0, count) : bytes);
      },
      (error: Error) => this.destroy(error),
    );
  }

  /** Reads ahead into a buffer, at most to the end of the slice. */
  #fill(bytes: Uint8Array, at: number): number | Promise<number> {
    const slice = this.#slices[0];
    if (slice === undefined) return Promise.reject(new Error('The file was closed'));
    if (slice.file === null) {
      return openAlone(slice.path).then((file) => {
        slice.file = file;
        // Closed meanwhile.
        if (this.#slices[0] !== slice) file.close();
        return this.#fill(bytes, at);
      });
    }
    const count = slice.file.read(bytes, at, Math.min(slice.left, bytes.byteLength - at), slice.at);
    return typeof count === 'number'
      ? this.#filled(slice, count)
      : count.then((bytesRead) => this.#filled(slice, bytesRead));
  }

  #filled(slice: Slice, count: number): number {
    if (count === 0) throw new Error('A stored file was truncated');
    slice.at += count;
    slice.left -= count;
    if (slice.left === 0 && this.#slices[0] === slice) {
      this.#slices.shift();
      slice.file?.close();
    }
    return count;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    for (const { file } of this.#slices.splice(0)) file?.close();
    done(error);
  }
}

/** Writes chunks, and frees their memory. */
async function writeAll(
  file: FileHandle,
  chunks: readonly Uint8Array[],
  after?: (chunk: Uint8Array) => void,
): Promise<void> {
  for (let left = chunks; left.length > 0;) {
    let { bytesWritten } = await file.writev(left);
    const whole = left.findIndex((chunk) => (bytesWritten -= chunk.byteLength) < 0);
    // If a count is negative, it is the number of remaining bytes of the first, partly written chunk.
    left = whole < 0 ? [] : [left[whole]!.subarray(bytesWritten), ...left.slice(whole + 1)];
  }
  if (after !== undefined) for (const chunk of chunks) after(chunk);
}

async function remove(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Converts errors of a full disk, from the system or SQLite, to the binding's error. */
export function full(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  return code === 'ENOSPC' || code === 'SQLITE_FULL'
    ? new PlatformError('quota_exceeded', { what: 'The file', limit: 'the free disk space' })
    : error;
}

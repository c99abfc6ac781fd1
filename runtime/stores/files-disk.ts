// Files in a folder: contents (files-disk-contents.ts), and a SQLite index of them (files-disk-rows.ts), which several
// processes may open at the same time. A content is written to disk before its row. The row replaces the old row in one
// transaction, so that a reader, and a restart after a crash, finds either the old or the new file. Contents without a
// row after a crash are removed when they are a day old.
import { randomBytes } from 'node:crypto';
import { mkdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { unlimitedStorage, type StorageGuard } from '#core/storage-left.ts';
import type { FileHead, FilePage, FilePlace, FileStore, FileWrite } from '../engine/bindings/files.ts';
import { contentBytes, FILE_BYTES, textBytes, textsOf } from './file-bytes.ts';
import { holds, resolveRange } from './file-conditions.ts';
import { full, OPEN_AT_ONCE, openContents, type Content, type Contents } from './files-disk-contents.ts';
import { createFlush, type Flush } from './files-disk-flush.ts';
import { FileRows, toHead, type FileRow, type Gone } from './files-disk-rows.ts';
import { knownContents, openFilesTables } from './files-disk-schema.ts';

/** How many times a reader whose contents were deleted reads the changed row again. */
const ATTEMPTS_MAX = 100;

/** Options of {@link openFilesDisk}. */
interface FilesDiskOptions {
  /** Storage limit of a namespace, including parts of uploads, in bytes as counted by file-bytes.ts. */
  readonly namespaceBytesMax?: number;
  /** The free space of the disk. */
  readonly space?: FreeSpace;
  /** Remaining storage of organizations. */
  readonly storage?: StorageGuard;
  readonly now?: () => number;
}

/** The state that the operations share. */
interface DiskDeps {
  readonly rows: FileRows;
  readonly content: Contents;
  readonly storage: StorageGuard;
  readonly flushed: Flush;
}

type Uploads = Pick<FileStore, 'createUpload' | 'putPart' | 'completeUpload' | 'abortUpload'>;

/** Opens the folder, and creates it if necessary. */
export function openFilesDisk(
  folder: string,
  options: FilesDiskOptions = {},
): FileStore & { kept(): Promise<ReadonlyMap<string, number>>; close(): void } {
  const {
    namespaceBytesMax = Number.MAX_SAFE_INTEGER,
    now = Date.now,
    space = new FreeSpace(folder, 0, statfsSync),
    storage = unlimitedStorage,
  } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const content = openContents(join(folder, 'content'), now, space);
  const index = join(folder, 'index.sqlite');
  const db = openFilesTables(index);
  const flushed = createFlush(`${index}-wal`);
  const rows = new FileRows(db, { namespaceBytesMax, now });
  const deps: DiskDeps = { rows, content, storage, flushed };
  content.sweep(knownContents(db));
  return {
    ...reads(deps),
    ...writes(deps),
    ...uploads(deps),
    kept: async () => rows.used(),
    close() {
      db.close();
      content.close();
      flushed.close();
    },
  };
}

function reads({ rows, content }: DiskDeps): Pick<FileStore, 'head' | 'get' | 'list'> {
  return {
    async head(place, key) {
      const row = rows.find(place, key);
      return row === undefined ? null : toHead(row);
    },
    async get(place, key, { range, onlyIf }) {
      let last: FileRow | undefined;
      for (let attempt = 1; ; attempt++) {
        const row = rows.find(place, key);
        if (row === undefined) return null;
        const head = toHead(row);
        const bytes = resolveRange(range, row.size);
        if (bytes === null)
          throw new PlatformError('invalid_argument', {
            reason: `The range begins after the end of the file (${row.size} bytes)`,
          });
        if (!holds(onlyIf, head)) return { head, range: bytes, body: null };
        try {
          const body = await content.read(JSON.parse(row.contents) as Content[], bytes.offset, bytes.length);
          return { head, range: bytes, body };
        } catch (error) {
          // The file was replaced or deleted after its row was read, and before its contents were opened.
          const isReplaced = (error as NodeJS.ErrnoException).code === 'ENOENT' && row.version !== last?.version;
          if (!isReplaced || attempt === ATTEMPTS_MAX) throw error;
          last = row;
        }
      }
    },
    list: async (place, page) => pageOf(rows, place, page),
  };
}

function pageOf(
  rows: FileRows,
  place: FilePlace,
  { prefix, delimiter, cursor, limit }: Parameters<FileStore['list']>[1],
): FilePage {
  const files: FileHead[] = [];
  const prefixes: string[] = [];
  // A cursor is the last key, or the last grouped prefix, of the previous page. The prefix itself may be a key,
  // and is not grouped.
  const folds = cursor !== null && delimiter !== '' && cursor !== prefix && cursor.endsWith(delimiter);
  let from = cursor === null || cursor < prefix ? prefix : folds ? `${cursor}\u{10ffff}` : cursor;
  for (;;) {
    let jump: string | null = null;
    for (const row of rows.from(place, from)) {
      if (!row.key.startsWith(prefix)) return { files, prefixes, cursor: null };
      if (row.key === cursor) continue;
      if (files.length + prefixes.length === limit) return { files, prefixes, cursor: lastOf(files, prefixes) };
      const end = delimiter === '' ? -1 : row.key.indexOf(delimiter, prefix.length);
      if (end < 0) {
        files.push(toHead(row));
        continue;
      }
      const folded = row.key.slice(0, end + delimiter.length);
      prefixes.push(folded);
      jump = folded;
      break;
    }
    if (jump === null) return { files, prefixes, cursor: null };
    // A key that follows all keys that begin with this one.
    from = `${jump}\u{10ffff}`;
  }
}

function lastOf(files: readonly FileHead[], prefixes: readonly string[]): string {
  const file = files.at(-1)?.key ?? '';
  const prefix = prefixes.at(-1) ?? '';
  return Buffer.compare(Buffer.from(file), Buffer.from(prefix)) > 0 ? file : prefix;
}

function writes(deps: DiskDeps): Pick<FileStore, 'put' | 'delete' | 'clear' | 'resources'> {
  const { rows, flushed } = deps;
  return {
    put: guarded(async (place, key, body, { onlyIf, headers, metadata, bytesMax, digests }) => {
      const texts = textsOf(key, { headers, metadata });
      const { md5, ...written } = await writeNoted(deps, place, body, { bytesMax, texts: textBytes(texts), digests });
      const row = rows.rowOf([written], md5, { ...texts, digests: JSON.stringify(digests) });
      const unused: Gone = { contents: [written], texts: textBytes(texts) };
      let done: Gone | null;
      try {
        done = rows.put(place, key, onlyIf, row);
      } catch (error) {
        await drop(deps, place, unused);
        throw error;
      }
      if (done !== null) await flushed();
      await drop(deps, place, done ?? unused);
      return done === null ? null : toHead({ key, ...row });
    }),
    delete: guarded(async (place, keys) => {
      const removed = rows.delete(place, keys);
      if (removed.length > 0) await flushed();
      for (const gone of removed) await drop(deps, place, gone);
    }),
    clear: guarded(async (place) => {
      for (let count = 0; ;) {
        const [files, cleared] = rows.clearSome(place);
        if (cleared.length === 0) return count;
        count += files;
        await flushed();
        for (const gone of cleared) await drop(deps, place, gone);
      }
    }),
    resources: async (namespace) => rows.resources(namespace),
  };
}

function uploads(deps: DiskDeps): Uploads {
  const { rows, storage, flushed } = deps;
  return {
    createUpload: guarded(async (place, key, write) => {
      const id = randomBytes(16).toString('hex');
      const texts = textsOf(key, write);
      const bytes = FILE_BYTES + textBytes(texts);
      storage.take(place.namespace, bytes);
      try {
        rows.beginUpload(place, id, texts, bytes);
      } catch (error) {
        storage.note(place.namespace, -bytes);
        throw error;
      }
      await flushed();
      return id;
    }),
    putPart: guarded(async (place, key, upload, part, body, bytesMax) => {
      rows.uploadOf(place, key, upload);
      const { name, size, md5 } = await writeNoted(deps, place, body, { bytesMax, texts: 0 });
      let old: readonly Content[];
      try {
        old = rows.putPart(place, key, upload, { part, etag: md5, name, size });
      } catch (error) {
        await drop(deps, place, { contents: [{ name, size }], texts: 0 });
        throw error;
      }
      await flushed();
      await drop(deps, place, { contents: old, texts: 0 });
      return { etag: md5 };
    }),
    completeUpload: guarded(async (place, key, upload, named) => {
      const { head, gone } = rows.completeUpload(place, key, upload, named);
      await flushed();
      await drop(deps, place, gone);
      return head;
    }),
    abortUpload: guarded(async (place, key, upload) => {
      const gone = rows.abortUpload(place, key, upload);
      await flushed();
      await drop(deps, place, gone);
    }),
  };
}

/** Call this function when the row that no longer names the contents is on disk. */
async function drop(
  { rows, content, storage }: DiskDeps,
  { namespace }: FilePlace,
  { contents, texts }: Gone,
): Promise<void> {
  storage.note(namespace, -contentBytes(contents) - texts);
  if (contents.length <= OPEN_AT_ONCE) await content.drop(contents);
  // A reader in this or another process may not have opened all of the contents yet.
  else await content.drop(rows.dropLater(contents).map((name) => ({ name, size: 0 })));
}

/**
 * Writes a content, and counts it for the organization. `texts` is the number of counted bytes in addition to the
 * content.
 */
async function writeNoted(
  { content, storage }: DiskDeps,
  { namespace }: FilePlace,
  body: Readable | Uint8Array,
  { bytesMax, texts, digests }: { bytesMax: number; texts: number; digests?: FileWrite['digests'] },
): ReturnType<Contents['write']> {
  const note = (bytes: number): void => (bytes > 0 ? storage.take(namespace, bytes) : storage.note(namespace, bytes));
  note(FILE_BYTES + texts);
  try {
    return await content.write(body, bytesMax, note, digests);
  } catch (error) {
    note(-FILE_BYTES - texts);
    throw error;
  }
}

/** Writes to a full disk fail with the error of a quota. */
function guarded<Given extends readonly unknown[], Result>(
  call: (...given: Given) => Promise<Result>,
): (...given: Given) => Promise<Result> {
  return (...given) =>
    call(...given).catch((error: unknown) => {
      throw full(error);
    });
}

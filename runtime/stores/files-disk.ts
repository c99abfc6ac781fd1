// Files in a folder: contents (files-disk-contents.ts), and a SQLite index of them, which several processes may open
// at once. A content is on disk before its row is, and its row replaces the old one in one transaction, so that a
// reader, and a crash at any moment, finds the old file or the new one. Contents without a row after a crash are
// removed when they are a day old.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, statfsSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import { FreeSpace } from '#core/process/free-space.ts';
import { unboundedStorage, type StorageBounds } from '#core/storage-left.ts';
import type { FileBody, FileHead, FilePlace, FileStore, FileWrite } from '../engine/bindings/files.ts';
import { contentBytes, FILE_BYTES, textBytes, textsOf, type FileTexts } from './file-bytes.ts';
import { holds, resolveRange } from './file-conditions.ts';
import { full, OPEN_AT_ONCE, openContents, type Content } from './files-disk-contents.ts';
import { openSqliteFile } from './sqlite-file.ts';

/** A file or an upload whose row was deleted. */
interface Gone {
  readonly contents: readonly Content[];
  /** Counted bytes besides the contents. */
  readonly texts: number;
}

interface Row {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly version: string;
  readonly uploaded_at: number;
  readonly headers: string;
  readonly metadata: string;
  /** JSON: names of the content's files, in order. */
  readonly contents: string;
  readonly digests: string;
}

const schema = `
CREATE TABLE IF NOT EXISTS files (
  namespace TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL, version TEXT NOT NULL,
  uploaded_at INTEGER NOT NULL, headers TEXT NOT NULL, metadata TEXT NOT NULL, contents TEXT NOT NULL, digests TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (namespace, resource, key)
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS uploads (
  id TEXT PRIMARY KEY, namespace TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL, headers TEXT NOT NULL, metadata TEXT NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS parts (
  upload TEXT NOT NULL REFERENCES uploads ON DELETE CASCADE, part INTEGER NOT NULL, etag TEXT NOT NULL, size INTEGER NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (upload, part)
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS dropped (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS used (namespace TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID, STRICT`;

/** How long contents that a reader opens one after the other are kept after their file is deleted. */
const DROPPED_MS = 60 * 60 * 1000;
/** Version of what `used` counts. */
const COUNT_VERSION = 2;
/** A reader whose contents are gone reads the row again, as often as it has changed meanwhile. */
const ATTEMPTS_MAX = 100;
const nothing: Gone = { contents: [], texts: 0 };
const at = 'namespace = ? AND resource = ? AND key = ?';

/** Options of {@link openFilesDisk}. */
interface FilesDiskOptions {
  /** Storage limit of a namespace, including parts of uploads, as file-bytes.ts counts it. */
  readonly namespaceBytesMax?: number;
  /** Free space of the disk. */
  readonly space?: FreeSpace;
  /** Remaining storage of organizations. */
  readonly storage?: StorageBounds;
  readonly now?: () => number;
}

/** Opens the folder, and creates it if necessary. */
export function openFilesDisk(
  folder: string,
  options: FilesDiskOptions = {},
): FileStore & { kept(): Promise<ReadonlyMap<string, number>>; close(): void } {
  const {
    namespaceBytesMax = Number.MAX_SAFE_INTEGER,
    now = Date.now,
    space = new FreeSpace(folder, 0, statfsSync),
    storage = unboundedStorage,
  } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const content = openContents(join(folder, 'content'), now, space);
  const index = join(folder, 'index.sqlite');
  const db = openSqliteFile(index);
  // `flushed` makes a commit durable, off the main thread and for all waiting callers at once.
  db.pragma('synchronous = NORMAL');
  db.pragma('foreign_keys = ON');
  db.exec(schema);
  db.transaction(addDigests).immediate();
  const flushed = createFlush(`${index}-wal`);
  const find = db.prepare<unknown[], Row>(`SELECT * FROM files WHERE ${at}`);
  const insert = db.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const remove = db.prepare<unknown[], FileTexts & Pick<Row, 'contents'>>(
    `DELETE FROM files WHERE ${at} RETURNING key, headers, metadata, contents`,
  );
  const page = db.prepare<unknown[], Row>(
    'SELECT * FROM files WHERE namespace = ? AND resource = ? AND key >= ? ORDER BY key',
  );
  const addUpload = db.prepare('INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)');
  const findUpload = db.prepare<unknown[], { headers: string; metadata: string }>(
    `SELECT headers, metadata FROM uploads WHERE id = ? AND ${at}`,
  );
  const dropUpload = db.prepare('DELETE FROM uploads WHERE id = ?');
  const addPart = db.prepare('INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)');
  const partsOf = db.prepare<unknown[], { part: number; etag: string; size: number; name: string }>(
    'SELECT part, etag, size, name FROM parts WHERE upload = ?',
  );

  const dropLater = db.prepare('INSERT OR REPLACE INTO dropped VALUES (?, ?)');
  const dropDue = db.prepare<unknown[], { name: string }>('DELETE FROM dropped WHERE at <= ? RETURNING name');
  const findUsed = db.prepare<unknown[], { bytes: number }>('SELECT bytes FROM used WHERE namespace = ?');
  const addUsed = db.prepare(
    'INSERT INTO used VALUES (?, ?) ON CONFLICT (namespace) DO UPDATE SET bytes = max(0, used.bytes + excluded.bytes)',
  );

  db.transaction(countOnce).immediate();
  content.sweep(db.transaction(knownContents)());

  /** Migrates an index from before files had digests. */
  function addDigests(): void {
    const columns = db.prepare<unknown[], { name: string }>("SELECT name FROM pragma_table_info('files')").all();
    if (!columns.some(({ name }) => name === 'digests'))
      db.exec("ALTER TABLE files ADD COLUMN digests TEXT NOT NULL DEFAULT '{}'");
  }

  /** Counts existing files if there is no count yet, or an older one that had only their bytes. */
  function countOnce(): void {
    if ((db.pragma('user_version', { simple: true }) as number) >= COUNT_VERSION) return;
    const texts = ['key', 'headers', 'metadata'].map((column) => `length(CAST(${column} AS BLOB))`).join(' + ');
    db.exec(`
      INSERT OR REPLACE INTO used SELECT namespace, sum(bytes) FROM (
        SELECT namespace, size + json_array_length(contents) * ${FILE_BYTES} + ${texts} AS bytes FROM files
        UNION ALL SELECT namespace, ${FILE_BYTES} + ${texts} FROM uploads
        UNION ALL SELECT namespace, size + ${FILE_BYTES} FROM parts JOIN uploads ON uploads.id = parts.upload
      ) GROUP BY namespace`);
    db.pragma(`user_version = ${COUNT_VERSION}`);
  }

  /** Contents named by rows, at one moment: parts may become a file meanwhile. */
  function knownContents(): Set<string> {
    const known = new Set<string>();
    for (const { contents } of db.prepare<unknown[], Row>('SELECT contents FROM files').iterate())
      for (const { name } of JSON.parse(contents) as Content[]) known.add(name);
    for (const table of ['parts', 'dropped'])
      for (const { name } of db.prepare<unknown[], { name: string }>(`SELECT name FROM ${table}`).iterate())
        known.add(name);
    return known;
  }

  /** @throws {PlatformError} `quota_exceeded`, when a namespace would exceed its limit. */
  function use(namespace: string, bytes: number): void {
    if (bytes > 0 && (findUsed.get(namespace)?.bytes ?? 0) + bytes > namespaceBytesMax)
      throw new PlatformError('quota_exceeded', {
        what: 'The files of this project',
        limit: `${namespaceBytesMax} bytes`,
      });
    if (bytes !== 0) addUsed.run(namespace, bytes);
  }

  const replace = db.transaction(
    (place: FilePlace, key: string, condition: FileWrite['onlyIf'], row: Omit<Row, 'key'>): Gone | null => {
      const before = find.get(place.namespace, place.resource, key);
      if (!holds(condition, before === undefined ? null : toHead(before))) return null;
      const old = before === undefined ? nothing : goneOf(before);
      const { contents } = goneOf({ key, ...row });
      use(
        place.namespace,
        contentBytes(contents) + textBytes({ key, ...row }) - contentBytes(old.contents) - old.texts,
      );
      insert.run(
        place.namespace,
        place.resource,
        key,
        row.size,
        row.etag,
        row.version,
        row.uploaded_at,
        row.headers,
        row.metadata,
        row.contents,
        row.digests,
      );
      return old;
    },
  );

  function rowOf(
    contents: readonly Content[],
    etag: string,
    { headers, metadata, digests = '{}' }: Pick<Row, 'headers' | 'metadata'> & { digests?: string },
  ): Omit<Row, 'key'> {
    return {
      size: sizeOf(contents),
      etag,
      version: randomBytes(12).toString('hex'),
      uploaded_at: now(),
      headers,
      metadata,
      contents: JSON.stringify(contents),
      digests,
    };
  }

  /**
   * An upload and its parts become a file atomically: later operations on the upload must not delete contents of a
   * file.
   */
  const complete = db.transaction(
    (place: FilePlace, key: string, upload: string, named: readonly { part: number; etag: string }[]) => {
      const texts = uploadOf(place, key, upload);
      const unused = new Map(partsOf.all(upload).map((part) => [part.part, part]));
      const chosen = named.map(({ part, etag }) => {
        const found = unused.get(part);
        if (found?.etag !== etag)
          throw new PlatformError('invalid_argument', { reason: `Part ${part} with etag ${etag} was not uploaded` });
        unused.delete(part);
        return found;
      });
      const digest = createHash('md5');
      for (const { etag } of chosen) digest.update(etag, 'hex');
      const contents = chosen.map(({ name, size }) => ({ name, size }));
      const row = rowOf(contents, `${digest.digest('hex')}-${chosen.length}`, texts);
      // From now on the file counts instead.
      use(place.namespace, -contentBytes([...chosen, ...unused.values()]) - FILE_BYTES - textBytes({ key, ...texts }));
      const old = replace(place, key, null, row) as Gone;
      dropUpload.run(upload);
      // The upload's texts are the file's now.
      const gone = { contents: [...old.contents, ...unused.values()], texts: old.texts + FILE_BYTES };
      return { head: toHead({ key, ...row }), gone };
    },
  );

  /** Returns the part's previous content. */
  const setPart = db.transaction(
    (place: FilePlace, key: string, upload: string, part: number, etag: string, { name, size }: Content) => {
      uploadOf(place, key, upload);
      const old = partsOf.all(upload).filter((known) => known.part === part);
      use(place.namespace, contentBytes([{ size }]) - contentBytes(old));
      addPart.run(upload, part, etag, size, name);
      return old;
    },
  );

  const giveUp = db.transaction((place: FilePlace, key: string, upload: string) => {
    const texts = FILE_BYTES + textBytes({ key, ...uploadOf(place, key, upload) });
    const contents = partsOf.all(upload);
    use(place.namespace, -contentBytes(contents) - texts);
    dropUpload.run(upload);
    return { contents, texts };
  });

  const removeAll = db.transaction(({ namespace, resource }: FilePlace, keys: readonly string[]): Gone[] =>
    keys.flatMap((key) => {
      const row = remove.get(namespace, resource, key);
      if (row === undefined) return [];
      const gone = goneOf(row);
      use(namespace, -contentBytes(gone.contents) - gone.texts);
      return [gone];
    }),
  );

  /** Deletes files and uploads of a resource, and returns how many files there were. */
  const clearAll = db.transaction(({ namespace, resource }: FilePlace): [files: number, gone: Gone[]] => {
    const rows = db.prepare<unknown[], FileTexts & Pick<Row, 'contents'>>(
      'DELETE FROM files WHERE namespace = ? AND resource = ? RETURNING key, headers, metadata, contents',
    );
    const gone = rows.all(namespace, resource).map(goneOf);
    const { length: files } = gone;
    const uploads = db.prepare<unknown[], FileTexts & { id: string }>(
      'SELECT id, key, headers, metadata FROM uploads WHERE namespace = ? AND resource = ?',
    );
    for (const { id, ...texts } of uploads.all(namespace, resource)) {
      gone.push({ contents: partsOf.all(id), texts: FILE_BYTES + textBytes(texts) });
      dropUpload.run(id);
    }
    use(namespace, -gone.reduce((sum, { contents, texts }) => sum + contentBytes(contents) + texts, 0));
    return [files, gone];
  });

  /** Call once the row that no longer names them is on disk. */
  async function drop({ namespace }: FilePlace, { contents, texts }: Gone): Promise<void> {
    storage.note(namespace, -contentBytes(contents) - texts);
    if (contents.length <= OPEN_AT_ONCE) {
      await content.drop(contents);
      return;
    }
    // A reader here or in another process may not have opened all of them yet.
    const due = db.transaction(() => {
      for (const { name } of contents) dropLater.run(name, now());
      return dropDue.all(now() - DROPPED_MS);
    })();
    await content.drop(due.map(({ name }) => ({ name, size: 0 })));
  }

  /** Writes a content, and counts it for the organization. @param texts counted bytes besides the content. */
  async function writeNoted(
    { namespace }: FilePlace,
    body: Readable | Uint8Array,
    bytesMax: number,
    texts: number,
    digests?: FileWrite['digests'],
  ): ReturnType<typeof content.write> {
    const note = (bytes: number): void => (bytes > 0 ? storage.take(namespace, bytes) : storage.note(namespace, bytes));
    note(FILE_BYTES + texts);
    try {
      return await content.write(body, bytesMax, note, digests);
    } catch (error) {
      note(-FILE_BYTES - texts);
      throw error;
    }
  }

  const beginUpload = db.transaction((place: FilePlace, id: string, texts: FileTexts, bytes: number): void => {
    use(place.namespace, bytes);
    addUpload.run(id, place.namespace, place.resource, texts.key, texts.headers, texts.metadata);
  });

  function uploadOf(place: FilePlace, key: string, upload: string): { headers: string; metadata: string } {
    const found = findUpload.get(upload, place.namespace, place.resource, key);
    if (found === undefined)
      throw new PlatformError('invalid_argument', { reason: `There is no upload ${upload} of this key` });
    return found;
  }

  const store: ReturnType<typeof openFilesDisk> = {
    async kept() {
      const rows = db.prepare<unknown[], { namespace: string; bytes: number }>('SELECT namespace, bytes FROM used');
      return new Map(rows.all().map(({ namespace, bytes }) => [namespace, bytes]));
    },
    async put(place, key, body, { onlyIf, headers, metadata, bytesMax, digests }) {
      const texts = textsOf(key, { headers, metadata });
      const { md5, ...written } = await writeNoted(place, body, bytesMax, textBytes(texts), digests);
      const row = rowOf([written], md5, { ...texts, digests: JSON.stringify(digests) });
      const unused: Gone = { contents: [written], texts: textBytes(texts) };
      let done: Gone | null;
      try {
        done = replace.immediate(place, key, onlyIf, row);
      } catch (error) {
        await drop(place, unused);
        throw error;
      }
      if (done !== null) await flushed();
      await drop(place, done ?? unused);
      return done === null ? null : toHead({ key, ...row });
    },
    async head({ namespace, resource }, key) {
      const row = find.get(namespace, resource, key);
      return row === undefined ? null : toHead(row);
    },
    async get({ namespace, resource }, key, { range, onlyIf }) {
      let last: Row | undefined;
      for (let attempt = 1; ; attempt++) {
        const row = find.get(namespace, resource, key);
        if (row === undefined) return null;
        const head = toHead(row);
        const bytes = resolveRange(range, row.size);
        if (bytes === null)
          throw new PlatformError('invalid_argument', {
            reason: `The range begins after the end of the file (${row.size} bytes)`,
          });
        if (!holds(onlyIf, head)) return { head, range: bytes, body: null };
        try {
          const body: FileBody = await content.read(JSON.parse(row.contents) as Content[], bytes.offset, bytes.length);
          return { head, range: bytes, body };
        } catch (error) {
          // Replaced or deleted between reading its row and opening its contents.
          const isReplaced = (error as NodeJS.ErrnoException).code === 'ENOENT' && row.version !== last?.version;
          if (!isReplaced || attempt === ATTEMPTS_MAX) throw error;
          last = row;
        }
      }
    },
    async delete(place, keys) {
      const removed = removeAll.immediate(place, keys);
      if (removed.length > 0) await flushed();
      for (const gone of removed) await drop(place, gone);
    },
    async list({ namespace, resource }, { prefix, delimiter, cursor, limit }) {
      const files: FileHead[] = [];
      const prefixes: string[] = [];
      // A cursor is the last key, or the last grouped prefix, of the previous page. The prefix itself may be a key,
      // and is not grouped.
      const folds = cursor !== null && delimiter !== '' && cursor !== prefix && cursor.endsWith(delimiter);
      let from = cursor === null || cursor < prefix ? prefix : folds ? `${cursor}\u{10ffff}` : cursor;
      for (;;) {
        let jump: string | null = null;
        for (const row of page.iterate(namespace, resource, from)) {
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
        // After everything that begins with it.
        from = `${jump}\u{10ffff}`;
      }
    },
    async createUpload(place, key, write) {
      const id = randomBytes(16).toString('hex');
      const texts = textsOf(key, write);
      const bytes = FILE_BYTES + textBytes(texts);
      storage.take(place.namespace, bytes);
      try {
        beginUpload.immediate(place, id, texts, bytes);
      } catch (error) {
        storage.note(place.namespace, -bytes);
        throw error;
      }
      await flushed();
      return id;
    },
    async putPart(place, key, upload, part, body, bytesMax) {
      uploadOf(place, key, upload);
      const { name, size, md5 } = await writeNoted(place, body, bytesMax, 0);
      let old: readonly Content[];
      try {
        old = setPart.immediate(place, key, upload, part, md5, { name, size });
      } catch (error) {
        await drop(place, { contents: [{ name, size }], texts: 0 });
        throw error;
      }
      await flushed();
      await drop(place, { contents: old, texts: 0 });
      return { etag: md5 };
    },
    async completeUpload(place, key, upload, named) {
      const { head, gone } = complete.immediate(place, key, upload, named);
      await flushed();
      await drop(place, gone);
      return head;
    },
    async abortUpload(place, key, upload) {
      const gone = giveUp.immediate(place, key, upload);
      await flushed();
      await drop(place, gone);
    },
    async clear(place) {
      const [count, cleared] = clearAll.immediate(place);
      if (cleared.length > 0) await flushed();
      for (const gone of cleared) await drop(place, gone);
      return count;
    },
    close() {
      db.close();
      content.close();
      flushed.close();
    },
  };
  const guarded = <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) => {
    return (...given: Given): Promise<Result> =>
      call(...given).catch((error: unknown) => {
        throw full(error);
      });
  };
  return {
    ...store,
    put: guarded(store.put),
    delete: guarded(store.delete),
    createUpload: guarded(store.createUpload),
    putPart: guarded(store.putPart),
    completeUpload: guarded(store.completeUpload),
    abortUpload: guarded(store.abortUpload),
    clear: guarded(store.clear),
  };
}

function goneOf(row: FileTexts & Pick<Row, 'contents'>): Gone {
  return { contents: JSON.parse(row.contents) as Content[], texts: textBytes(row) };
}

function toHead({
  key,
  size,
  etag,
  version,
  uploaded_at,
  headers,
  metadata,
  digests,
}: Omit<Row, 'contents'>): FileHead {
  return {
    key,
    size,
    etag,
    version,
    uploadedAt: uploaded_at,
    headers: JSON.parse(headers) as FileHead['headers'],
    metadata: JSON.parse(metadata) as Record<string, string>,
    digests: JSON.parse(digests) as FileHead['digests'],
  };
}

function lastOf(files: readonly FileHead[], prefixes: readonly string[]): string {
  const file = files.at(-1)?.key ?? '';
  const prefix = prefixes.at(-1) ?? '';
  return Buffer.compare(Buffer.from(file), Buffer.from(prefix)) > 0 ? file : prefix;
}

function sizeOf(contents: readonly { readonly size: number }[]): number {
  return contents.reduce((sum, { size }) => sum + size, 0);
}

/** Makes all commits durable: one sync of SQLite's log for all callers that arrive while another is in progress. */
function createFlush(log: string): { (): Promise<void>; close(): void } {
  let file: Promise<FileHandle> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | null = null;
  async function sync(): Promise<void> {
    // It exists from the first commit until the last process closes the index.
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

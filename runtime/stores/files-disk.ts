// Files in a folder: each content a file of its own under a random name, and an index in SQLite, which several processes may
// open at once. A write is on the disk before its row is, and its row replaces the old one in one transaction, so that a reader, and
// a crash at any moment, finds the old file or the new one. What a crash leaves without a row is swept when it is a day old.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import Database from 'better-sqlite3';
import { PlatformError } from '#core/errors.ts';
import type { FileHead, FilePlace, FileStore, FileWrite } from '../bindings/fs.ts';
import { holds, resolveRange } from './file-conditions.ts';

interface Row {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly version: string;
  readonly uploaded_at: number;
  readonly headers: string;
  readonly metadata: string;
  /** JSON: names of the content's files, in order. */ readonly contents: string;
}

interface Content {
  readonly name: string;
  readonly size: number;
}

const schema = `
CREATE TABLE IF NOT EXISTS files (
  namespace TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL, version TEXT NOT NULL,
  uploaded_at INTEGER NOT NULL, headers TEXT NOT NULL, metadata TEXT NOT NULL, contents TEXT NOT NULL,
  PRIMARY KEY (namespace, resource, key)
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS uploads (
  id TEXT PRIMARY KEY, namespace TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL, headers TEXT NOT NULL, metadata TEXT NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS parts (
  upload TEXT NOT NULL REFERENCES uploads ON DELETE CASCADE, part INTEGER NOT NULL, etag TEXT NOT NULL, size INTEGER NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY (upload, part)
) WITHOUT ROWID, STRICT`;

/** Files of one body that are open before it is read. */
const openAtOnce = 64;
const orphanMs = 24 * 60 * 60 * 1000;
const at = 'namespace = ? AND resource = ? AND key = ?';

/** Opens the folder, and makes it where there is none. */
export function openFilesDisk(folder: string, now: () => number = Date.now): FileStore & { close(): void } {
  mkdirSync(join(folder, 'content'), { recursive: true, mode: 0o700 });
  const db = new Database(join(folder, 'index.sqlite'), { timeout: 10_000 });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.exec(schema);
  const pathOf = (name: string): string => join(folder, 'content', name.slice(0, 2), name);
  const find = db.prepare<unknown[], Row>(`SELECT * FROM files WHERE ${at}`);
  const insert = db.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const remove = db.prepare<unknown[], Pick<Row, 'contents'>>(`DELETE FROM files WHERE ${at} RETURNING contents`);
  const page = db.prepare<unknown[], Row>('SELECT * FROM files WHERE namespace = ? AND resource = ? AND key >= ? ORDER BY key');
  const addUpload = db.prepare('INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)');
  const findUpload = db.prepare<unknown[], { headers: string; metadata: string }>(
    `SELECT headers, metadata FROM uploads WHERE id = ? AND ${at}`,
  );
  const dropUpload = db.prepare('DELETE FROM uploads WHERE id = ?');
  const addPart = db.prepare('INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)');
  const partsOf = db.prepare<unknown[], { part: number; etag: string; size: number; name: string }>(
    'SELECT part, etag, size, name FROM parts WHERE upload = ?',
  );

  sweep();

  /** What rows name, at one moment: parts may become a file meanwhile. */
  function knownContents(): Set<string> {
    const known = new Set<string>();
    for (const { contents } of db.prepare<unknown[], Row>('SELECT contents FROM files').iterate())
      for (const { name } of JSON.parse(contents) as Content[]) known.add(name);
    for (const { name } of db.prepare<unknown[], { name: string }>('SELECT name FROM parts').iterate()) known.add(name);
    return known;
  }

  /** Contents that no row names: of writes that a crash cut off. Younger ones may be on their way. */
  function sweep(): void {
    const known = db.transaction(knownContents)();
    for (const group of readdirSync(join(folder, 'content'))) {
      for (const name of readdirSync(join(folder, 'content', group))) {
        if (known.has(name)) continue;
        const found = statSync(pathOf(name), { throwIfNoEntry: false });
        if (found !== undefined && now() - found.mtimeMs > orphanMs) rmSync(pathOf(name), { force: true });
      }
    }
  }

  async function write(body: Readable, bytesMax: number, digests: FileWrite['digests'] = {}): Promise<Content & { md5: string }> {
    const name = randomBytes(16).toString('hex');
    mkdirSync(join(folder, 'content', name.slice(0, 2)), { recursive: true });
    const file = await open(pathOf(name), 'wx', 0o600);
    const md5 = createHash('md5');
    const sha256 = digests.sha256 === undefined ? null : createHash('sha256');
    let size = 0;
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        size += chunk.byteLength;
        if (size > bytesMax) throw new PlatformError('invalid_argument', { reason: `The file is larger than ${bytesMax} bytes` });
        md5.update(chunk);
        sha256?.update(chunk);
        await file.writeFile(chunk);
      }
      await file.sync();
      const found = { md5: md5.digest('hex'), sha256: sha256?.digest('hex') };
      for (const kind of ['md5', 'sha256'] as const) {
        if (digests[kind] !== undefined && digests[kind] !== found[kind])
          throw new PlatformError('invalid_argument', { reason: `The ${kind} of the file is ${found[kind]}, not ${digests[kind]}` });
      }
      return { name, size, md5: found.md5 };
    } catch (error) {
      await rm(pathOf(name), { force: true });
      throw full(error);
    } finally {
      await file.close();
    }
  }

  const replace = db.transaction(
    (place: FilePlace, key: string, condition: FileWrite['onlyIf'], row: Omit<Row, 'key'>): { old: readonly Content[] } | null => {
      const before = find.get(place.namespace, place.resource, key);
      if (!holds(condition, before === undefined ? null : toHead(before))) return null;
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
      );
      return { old: before === undefined ? [] : (JSON.parse(before.contents) as Content[]) };
    },
  );

  function rowOf(contents: readonly Content[], etag: string, { headers, metadata }: Pick<Row, 'headers' | 'metadata'>): Omit<Row, 'key'> {
    return {
      size: contents.reduce((sum, { size }) => sum + size, 0),
      etag,
      version: randomBytes(12).toString('hex'),
      uploaded_at: now(),
      headers,
      metadata,
      contents: JSON.stringify(contents),
    };
  }

  /** An upload and its parts become a file in one step: what is a file's now, no other word on the upload may drop. */
  const complete = db.transaction((place: FilePlace, key: string, upload: string, named: readonly { part: number; etag: string }[]) => {
    const texts = uploadOf(place, key, upload);
    const unused = new Map(partsOf.all(upload).map((part) => [part.part, part]));
    const chosen = named.map(({ part, etag }) => {
      const found = unused.get(part);
      if (found?.etag !== etag) throw new PlatformError('invalid_argument', { reason: `Part ${part} with etag ${etag} was not uploaded` });
      unused.delete(part);
      return found;
    });
    const digest = createHash('md5');
    for (const { etag } of chosen) digest.update(etag, 'hex');
    const contents = chosen.map(({ name, size }) => ({ name, size }));
    const row = rowOf(contents, `${digest.digest('hex')}-${chosen.length}`, texts);
    const { old } = replace(place, key, null, row) as { old: readonly Content[] };
    dropUpload.run(upload);
    return { head: toHead({ key, ...row }), dropped: [...old, ...unused.values()] };
  });

  /** Returns the part's content before. */
  const setPart = db.transaction((place: FilePlace, key: string, upload: string, part: number, etag: string, { name, size }: Content) => {
    uploadOf(place, key, upload);
    const old = partsOf.all(upload).filter((known) => known.part === part);
    addPart.run(upload, part, etag, size, name);
    return old;
  });

  const giveUp = db.transaction((place: FilePlace, key: string, upload: string) => {
    uploadOf(place, key, upload);
    const parts = partsOf.all(upload);
    dropUpload.run(upload);
    return parts;
  });

  // A reader that has the file open reads it to its end.
  async function drop(contents: readonly Content[]): Promise<void> {
    await Promise.all(contents.map(({ name }) => rm(pathOf(name), { force: true })));
  }

  function uploadOf(place: FilePlace, key: string, upload: string): { headers: string; metadata: string } {
    const found = findUpload.get(upload, place.namespace, place.resource, key);
    if (found === undefined) throw new PlatformError('invalid_argument', { reason: `There is no upload ${upload} of this key` });
    return found;
  }

  /** The bytes of several files as one stream. The first are opened at once: a write may take their names away while they are read. */
  async function read(contents: readonly Content[], offset: number, length: number): Promise<Readable> {
    const slices: { name: string; start: number; end: number; file: FileHandle | null }[] = [];
    let skip = offset;
    let left = length;
    for (const { name, size } of contents) {
      if (left > 0 && skip < size) {
        const take = Math.min(size - skip, left);
        slices.push({ name, start: skip, end: skip + take - 1, file: null });
        left -= take;
      }
      skip = Math.max(0, skip - size);
    }
    const close = async (): Promise<void> => void (await Promise.all(slices.map(({ file }) => file?.close())));
    try {
      for (const slice of slices.slice(0, openAtOnce)) slice.file = await open(pathOf(slice.name));
    } catch (error) {
      await close();
      throw error;
    }
    async function* bytes(): AsyncGenerator<Uint8Array> {
      try {
        for (const slice of slices) {
          slice.file ??= await open(pathOf(slice.name));
          const { file, start, end } = slice;
          yield* file.createReadStream({ start, end, highWaterMark: 256 * 1024 }) as AsyncIterable<Uint8Array>;
          slice.file = null;
        }
      } finally {
        await close();
      }
    }
    const body = Readable.from(bytes(), { objectMode: false });
    // A generator that never began does not run its `finally`.
    body.once('close', () => void close());
    return body;
  }

  return {
    async put(place, key, body, options) {
      const { md5, ...content } = await write(body, options.bytesMax, options.digests);
      const texts = { headers: JSON.stringify(options.headers), metadata: JSON.stringify(options.metadata) };
      const row = rowOf([content], md5, texts);
      const done = replace.immediate(place, key, options.onlyIf, row);
      await drop(done === null ? [content] : done.old);
      return done === null ? null : toHead({ key, ...row });
    },
    async head({ namespace, resource }, key) {
      const row = find.get(namespace, resource, key);
      return row === undefined ? null : toHead(row);
    },
    async get({ namespace, resource }, key, { range, onlyIf }) {
      const row = find.get(namespace, resource, key);
      if (row === undefined) return null;
      const head = toHead(row);
      const bytes = resolveRange(range, row.size);
      if (bytes === null)
        throw new PlatformError('invalid_argument', { reason: `The range begins behind the end of the file (${row.size} bytes)` });
      if (!holds(onlyIf, head)) return { head, range: bytes, body: null };
      const contents = JSON.parse(row.contents) as Content[];
      return { head, range: bytes, body: await read(contents, bytes.offset, bytes.length) };
    },
    async delete({ namespace, resource }, keys) {
      for (const key of keys) {
        const row = remove.get(namespace, resource, key);
        if (row !== undefined) await drop(JSON.parse(row.contents) as Content[]);
      }
    },
    async list({ namespace, resource }, { prefix, delimiter, cursor, limit }) {
      const files: FileHead[] = [];
      const prefixes: string[] = [];
      // A cursor is the last key, or the last folded prefix, of the page before. The prefix itself may be a key, and folds nothing.
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
        // Past everything that begins with it.
        from = `${jump}\u{10ffff}`;
      }
    },
    async createUpload({ namespace, resource }, key, { headers, metadata }) {
      const id = randomBytes(16).toString('hex');
      addUpload.run(id, namespace, resource, key, JSON.stringify(headers), JSON.stringify(metadata));
      return id;
    },
    async putPart(place, key, upload, part, body, bytesMax) {
      uploadOf(place, key, upload);
      const { name, size, md5 } = await write(body, bytesMax);
      let old: readonly Content[];
      try {
        old = setPart.immediate(place, key, upload, part, md5, { name, size });
      } catch (error) {
        await drop([{ name, size }]);
        throw error;
      }
      await drop(old);
      return { etag: md5 };
    },
    async completeUpload(place, key, upload, named) {
      const { head, dropped } = complete.immediate(place, key, upload, named);
      await drop(dropped);
      return head;
    },
    async abortUpload(place, key, upload) {
      await drop(giveUp.immediate(place, key, upload));
    },
    close: () => void db.close(),
  };
}

function toHead({ key, size, etag, version, uploaded_at, headers, metadata }: Omit<Row, 'contents'>): FileHead {
  return {
    key,
    size,
    etag,
    version,
    uploadedAt: uploaded_at,
    headers: JSON.parse(headers) as FileHead['headers'],
    metadata: JSON.parse(metadata) as Record<string, string>,
  };
}

function lastOf(files: readonly FileHead[], prefixes: readonly string[]): string {
  const file = files.at(-1)?.key ?? '';
  const prefix = prefixes.at(-1) ?? '';
  return Buffer.compare(Buffer.from(file), Buffer.from(prefix)) > 0 ? file : prefix;
}

function full(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code === 'ENOSPC'
    ? new PlatformError('quota_exceeded', { what: 'The file', limit: 'the space of the disk' })
    : error;
}

// The rows of files-disk.ts: files, uploads and their parts, the usage of each namespace, and contents to delete later.
// Each method that writes is one transaction. Contents themselves are files (files-disk-contents.ts).
import { createHash, randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import { PlatformError } from '#core/errors.ts';
import type { FileHead, FilePlace, FileWrite } from '../engine/bindings/files.ts';
import { contentBytes, FILE_BYTES, textBytes, type FileTexts } from './file-bytes.ts';
import { holds } from './file-conditions.ts';
import type { Content } from './files-disk-contents.ts';

/** Maximum number of files that are deleted in one transaction, which runs on the main thread. */
const CLEARED_AT_ONCE = 200;

/** A file or an upload whose row was deleted. */
export interface Gone {
  readonly contents: readonly Content[];
  /** Counted bytes in addition to the contents. */
  readonly texts: number;
}

/** A file. */
export interface FileRow {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly version: string;
  readonly uploaded_at: number;
  readonly headers: string;
  readonly metadata: string;
  /** JSON with the names of the content's files, in order. */
  readonly contents: string;
  readonly digests: string;
}

/** A part of an upload. */
interface PartRow extends Content {
  readonly part: number;
  readonly etag: string;
}

type UploadTexts = Pick<FileTexts, 'headers' | 'metadata'>;
type GoneRow = FileTexts & Pick<FileRow, 'contents'>;

/** How long the contents of a deleted file are kept for a reader that opens them one after the other. */
const DROPPED_MS = 60 * 60 * 1000;
const nothing: Gone = { contents: [], texts: 0 };
const at = 'namespace = ? AND resource = ? AND key = ?';

/** The limits and the clock. */
interface FileRowsOptions {
  /** Storage limit of a namespace, including parts of uploads, in bytes as counted by file-bytes.ts. */
  readonly namespaceBytesMax: number;
  readonly now: () => number;
}

/** The rows of an open index; the caller closes it. */
export class FileRows {
  #namespaceBytesMax: number;
  #now: () => number;
  #statements: ReturnType<typeof prepare>;
  #transaction: Database.Transaction<(work: () => unknown) => unknown>;

  constructor(db: Database.Database, { namespaceBytesMax, now }: FileRowsOptions) {
    this.#namespaceBytesMax = namespaceBytesMax;
    this.#now = now;
    this.#statements = prepare(db);
    this.#transaction = db.transaction((work: () => unknown) => work());
  }

  #write<Result>(work: () => Result): Result {
    return this.#transaction.immediate(work) as Result;
  }

  find({ namespace, resource }: FilePlace, key: string): FileRow | undefined {
    return this.#statements.find.get(namespace, resource, key);
  }

  /** Lists files of a resource in the order of their keys. @param from the first key. */
  from({ namespace, resource }: FilePlace, from: string): IterableIterator<FileRow> {
    return this.#statements.page.iterate(namespace, resource, from);
  }

  /** The counted bytes by namespace. */
  used(): Map<string, number> {
    return new Map(this.#statements.allUsed.all().map(({ namespace, bytes }) => [namespace, bytes]));
  }

  /** Creates a row that names these contents, with a new version. */
  rowOf(
    contents: readonly Content[],
    etag: string,
    { headers, metadata, digests = '{}' }: UploadTexts & { readonly digests?: string },
  ): Omit<FileRow, 'key'> {
    return {
      size: contents.reduce((sum, { size }) => sum + size, 0),
      etag,
      version: randomBytes(12).toString('hex'),
      uploaded_at: this.#now(),
      headers,
      metadata,
      contents: JSON.stringify(contents),
      digests,
    };
  }

  /**
   * Writes a file, and returns the file that it replaces; null if the condition does not hold.
   *
   * @throws {PlatformError} `quota_exceeded`, when the namespace would exceed its limit.
   */
  put(place: FilePlace, key: string, condition: FileWrite['onlyIf'], row: Omit<FileRow, 'key'>): Gone | null {
    return this.#write(() => this.#put(place, key, condition, row));
  }

  #put(place: FilePlace, key: string, condition: FileWrite['onlyIf'], row: Omit<FileRow, 'key'>): Gone | null {
    const before = this.find(place, key);
    if (!holds(condition, before === undefined ? null : toHead(before))) return null;
    const old = before === undefined ? nothing : goneOf(before);
    const { contents } = goneOf({ key, ...row });
    this.#use(
      place.namespace,
      contentBytes(contents) + textBytes({ key, ...row }) - contentBytes(old.contents) - old.texts,
    );
    this.#statements.insert.run(
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
  }

  /** Deletes files, and returns those that existed. */
  delete({ namespace, resource }: FilePlace, keys: readonly string[]): Gone[] {
    return this.#write(() =>
      keys.flatMap((key) => {
        const row = this.#statements.remove.get(namespace, resource, key);
        if (row === undefined) return [];
        const gone = goneOf(row);
        this.#use(namespace, -contentBytes(gone.contents) - gone.texts);
        return [gone];
      }),
    );
  }

  /** The resources of a namespace with files or uploads. */
  resources(namespace: string): string[] {
    return this.#statements.resources.all(namespace, namespace, namespace).map(({ resource }) => resource);
  }

  /** Deletes some files and uploads of a resource, and returns how many files there were. */
  clearSome({ namespace, resource }: FilePlace): [files: number, gone: Gone[]] {
    return this.#write(() => {
      const gone = this.#statements.removeFiles.all(namespace, resource, namespace, resource).map(goneOf);
      const { length: files } = gone;
      for (const { id, ...texts } of this.#statements.uploads.all(namespace, resource)) {
        gone.push({ contents: this.#statements.partsOf.all(id), texts: FILE_BYTES + textBytes(texts) });
        this.#statements.dropUpload.run(id);
      }
      this.#use(namespace, -gone.reduce((sum, { contents, texts }) => sum + contentBytes(contents) + texts, 0));
      return [files, gone];
    });
  }

  /**
   * @param bytes counted bytes of the upload.
   * @throws {PlatformError} `quota_exceeded`, when the namespace would exceed its limit.
   */
  beginUpload(place: FilePlace, id: string, texts: FileTexts, bytes: number): void {
    this.#write(() => {
      this.#use(place.namespace, bytes);
      this.#statements.addUpload.run(id, place.namespace, place.resource, texts.key, texts.headers, texts.metadata);
    });
  }

  /** @throws {PlatformError} `invalid_argument`, when there is no such upload of the key. */
  uploadOf(place: FilePlace, key: string, upload: string): UploadTexts {
    const found = this.#statements.findUpload.get(upload, place.namespace, place.resource, key);
    if (found === undefined)
      throw new PlatformError('invalid_argument', { reason: `This key has no upload ${upload}` });
    return found;
  }

  /** Stores a part, and returns its previous content. */
  putPart(place: FilePlace, key: string, upload: string, { part, etag, name, size }: PartRow): readonly Content[] {
    return this.#write(() => {
      this.uploadOf(place, key, upload);
      const old = this.#statements.partsOf.all(upload).filter((known) => known.part === part);
      this.#use(place.namespace, contentBytes([{ size }]) - contentBytes(old));
      this.#statements.addPart.run(upload, part, etag, size, name);
      return old;
    });
  }

  /**
   * Makes an upload and its parts a file atomically, so that later operations on the upload do not delete contents of a
   * file.
   *
   * @throws {PlatformError} `invalid_argument`, when a named part was not uploaded.
   */
  completeUpload(
    place: FilePlace,
    key: string,
    upload: string,
    named: readonly { readonly part: number; readonly etag: string }[],
  ): { readonly head: FileHead; readonly gone: Gone } {
    return this.#write(() => {
      const texts = this.uploadOf(place, key, upload);
      const unused = new Map(this.#statements.partsOf.all(upload).map((part) => [part.part, part]));
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
      const row = this.rowOf(contents, `${digest.digest('hex')}-${chosen.length}`, texts);
      // From now on, the contents count as part of the file.
      this.#use(
        place.namespace,
        -contentBytes([...chosen, ...unused.values()]) - FILE_BYTES - textBytes({ key, ...texts }),
      );
      const old = this.#put(place, key, null, row) as Gone;
      this.#statements.dropUpload.run(upload);
      // The texts of the upload now belong to the file.
      const gone = { contents: [...old.contents, ...unused.values()], texts: old.texts + FILE_BYTES };
      return { head: toHead({ key, ...row }), gone };
    });
  }

  abortUpload(place: FilePlace, key: string, upload: string): Gone {
    return this.#write(() => {
      const texts = FILE_BYTES + textBytes({ key, ...this.uploadOf(place, key, upload) });
      const contents = this.#statements.partsOf.all(upload);
      this.#use(place.namespace, -contentBytes(contents) - texts);
      this.#statements.dropUpload.run(upload);
      return { contents, texts };
    });
  }

  /** Records contents to delete later, and returns the names of those that are due. */
  dropLater(contents: readonly Content[]): string[] {
    const now = this.#now();
    return this.#write(() => {
      for (const { name } of contents) this.#statements.dropLater.run(name, now);
      return this.#statements.dropDue.all(now - DROPPED_MS).map(({ name }) => name);
    });
  }

  #use(namespace: string, bytes: number): void {
    if (bytes > 0 && (this.#statements.findUsed.get(namespace)?.bytes ?? 0) + bytes > this.#namespaceBytesMax)
      throw new PlatformError('quota_exceeded', {
        what: 'The files of this project',
        limit: `${this.#namespaceBytesMax} bytes`,
      });
    if (bytes !== 0) this.#statements.addUsed.run(namespace, bytes);
  }
}

function prepare(db: Database.Database) {
  return {
    find: db.prepare<unknown[], FileRow>(`SELECT * FROM files WHERE ${at}`),
    insert: db.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    remove: db.prepare<unknown[], GoneRow>(`DELETE FROM files WHERE ${at} RETURNING key, headers, metadata, contents`),
    removeFiles: db.prepare<unknown[], GoneRow>(
      `DELETE FROM files WHERE namespace = ? AND resource = ? AND key IN (
         SELECT key FROM files WHERE namespace = ? AND resource = ? LIMIT ${CLEARED_AT_ONCE})
       RETURNING key, headers, metadata, contents`,
    ),
    page: db.prepare<unknown[], FileRow>(
      'SELECT * FROM files WHERE namespace = ? AND resource = ? AND key >= ? ORDER BY key',
    ),
    addUpload: db.prepare('INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)'),
    findUpload: db.prepare<unknown[], UploadTexts>(`SELECT headers, metadata FROM uploads WHERE id = ? AND ${at}`),
    uploads: db.prepare<unknown[], FileTexts & { readonly id: string }>(
      `SELECT id, key, headers, metadata FROM uploads WHERE namespace = ? AND resource = ? LIMIT ${CLEARED_AT_ONCE}`,
    ),
    // The query jumps from one resource to the next in the primary key, instead of reading all files on the main
    // thread.
    resources: db.prepare<unknown[], { readonly resource: string }>(
      `WITH RECURSIVE known (namespace, resource) AS (
         SELECT ?, (SELECT min(resource) FROM files WHERE namespace = ?)
         UNION ALL SELECT namespace, (SELECT min(resource) FROM files
           WHERE files.namespace = known.namespace AND files.resource > known.resource)
         FROM known WHERE resource IS NOT NULL)
       SELECT resource FROM known WHERE resource IS NOT NULL UNION SELECT resource FROM uploads WHERE namespace = ?`,
    ),
    dropUpload: db.prepare('DELETE FROM uploads WHERE id = ?'),
    addPart: db.prepare('INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?)'),
    partsOf: db.prepare<unknown[], PartRow>('SELECT part, etag, size, name FROM parts WHERE upload = ?'),
    dropLater: db.prepare('INSERT OR REPLACE INTO dropped VALUES (?, ?)'),
    dropDue: db.prepare<unknown[], { name: string }>('DELETE FROM dropped WHERE at <= ? RETURNING name'),
    findUsed: db.prepare<unknown[], { bytes: number }>('SELECT bytes FROM used WHERE namespace = ?'),
    allUsed: db.prepare<unknown[], { namespace: string; bytes: number }>('SELECT namespace, bytes FROM used'),
    addUsed: db.prepare(
      'INSERT INTO used VALUES (?, ?) ON CONFLICT (namespace) DO UPDATE SET bytes = max(0, used.bytes + excluded.bytes)',
    ),
  };
}

function goneOf(row: GoneRow): Gone {
  return { contents: JSON.parse(row.contents) as Content[], texts: textBytes(row) };
}

/** A row as the store returns it. */
export function toHead(row: Omit<FileRow, 'contents'>): FileHead {
  const { key, size, etag, version, uploaded_at: uploadedAt } = row;
  return {
    key,
    size,
    etag,
    version,
    uploadedAt,
    headers: JSON.parse(row.headers) as FileHead['headers'],
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    digests: JSON.parse(row.digests) as FileHead['digests'],
  };
}

// Reads a copy of the index of files-disk.ts, with the files and their contents. Used by backup and restore; never
// opens an index that is in use.
import type { FileDigests, FileHeaders, FilePlace } from '../engine/bindings/files.ts';
import type { Content } from './files-disk-contents.ts';
import { openSqliteFile } from './sqlite-file.ts';

/** A file of a project. */
interface IndexedFile extends FilePlace {
  readonly key: string;
  readonly headers: FileHeaders;
  readonly metadata: Readonly<Record<string, string>>;
  readonly digests: FileDigests;
  readonly contents: readonly Content[];
}

/** A copy of an index. */
interface FilesIndex {
  /** The names of all contents, including those of unfinished uploads, with their sizes in the index. */
  contents(): Map<string, number>;
  files(): Generator<IndexedFile>;
  close(): void;
}

/** @throws SQLite's error when the file is not an index. */
export function openFilesIndex(file: string): FilesIndex {
  const db = openSqliteFile(file);
  return {
    contents() {
      const found = new Map<string, number>();
      for (const { contents } of db.prepare<unknown[], { contents: string }>('SELECT contents FROM files').iterate())
        for (const { name, size } of JSON.parse(contents) as Content[]) found.set(name, size);
      for (const { name, size } of db.prepare<unknown[], Content>('SELECT name, size FROM parts').iterate())
        found.set(name, size);
      return found;
    },
    *files() {
      const rows = db.prepare<unknown[], Record<string, string>>(
        'SELECT namespace, resource, key, headers, metadata, digests, contents FROM files',
      );
      for (const { namespace, resource, key, headers, metadata, digests, contents } of rows.iterate())
        yield {
          namespace: namespace!,
          resource: resource!,
          key: key!,
          headers: JSON.parse(headers!) as FileHeaders,
          metadata: JSON.parse(metadata!) as Record<string, string>,
          digests: JSON.parse(digests ?? '{}') as FileDigests,
          contents: JSON.parse(contents!) as Content[],
        };
    },
    close: () => db.close(),
  };
}

// The tables of the index of files-disk.ts, and its migrations. files-disk-rows.ts explains the meaning of the rows.
import type Database from 'better-sqlite3';
import { FILE_BYTES } from './file-bytes.ts';
import type { Content } from './files-disk-contents.ts';
import { openSqliteFile } from './sqlite-file.ts';

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

/** Version of the method that counts `used`. */
const COUNT_VERSION = 2;

/** Opens an index and migrates it; creates it if necessary. */
export function openFilesTables(file: string): Database.Database {
  const db = openSqliteFile(file);
  // `flushed` makes a commit durable for all waiting callers together, without blocking the main thread.
  db.pragma('synchronous = NORMAL');
  db.pragma('foreign_keys = ON');
  db.exec(schema);
  db.transaction(() => addDigests(db)).immediate();
  db.transaction(() => countOnce(db)).immediate();
  return db;
}

/** Migrates an index from before files had digests. */
function addDigests(db: Database.Database): void {
  const columns = db.prepare<unknown[], { name: string }>("SELECT name FROM pragma_table_info('files')").all();
  if (!columns.some(({ name }) => name === 'digests'))
    db.exec("ALTER TABLE files ADD COLUMN digests TEXT NOT NULL DEFAULT '{}'");
}

/** Counts existing files if there is no count yet, or only an older count without texts and overhead. */
function countOnce(db: Database.Database): void {
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

/** The contents that rows name. They are read in one transaction, because parts may become a file in the meantime. */
export function knownContents(db: Database.Database): Set<string> {
  return db.transaction(() => {
    const known = new Set<string>();
    for (const { contents } of db.prepare<unknown[], { contents: string }>('SELECT contents FROM files').iterate())
      for (const { name } of JSON.parse(contents) as Content[]) known.add(name);
    for (const table of ['parts', 'dropped'])
      for (const { name } of db.prepare<unknown[], { name: string }>(`SELECT name FROM ${table}`).iterate())
        known.add(name);
    return known;
  })();
}

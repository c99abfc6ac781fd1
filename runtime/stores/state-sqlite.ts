// State in one SQLite file, for `platform dev`, with the same table as in Postgres. Needs no server, and is strongly
// consistent, because this process is the only writer.
import { randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { StateStore, StoredState } from '../engine/bindings/state.ts';
import { ROW_BYTES } from './project-limits.ts';
import { migrateSqliteFile, openSqliteFile } from './sqlite-file.ts';
import { checkValueBytes } from './state-value-bytes.ts';

interface Row {
  readonly value: Buffer;
  readonly is_text: number;
  readonly metadata: string | null;
  readonly expires_at: number | null;
  readonly version: string;
}

/** In files of older platforms, the table has no column `is_text`: text and bytes were distinguished by their type. */
function takeOverOldTable(db: Database.Database): () => void {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'state'").get() === undefined) return () => {};
  db.exec('ALTER TABLE state RENAME TO state_before');
  return () =>
    void db.exec(`INSERT INTO state (namespace, resource, key, value, is_text, metadata, expires_at, version)
      SELECT namespace, resource, key, CAST(value AS BLOB), typeof(value) = 'text', metadata, expires_at, version
      FROM state_before;
      DROP TABLE state_before`);
}

/** Opens the file, and creates it if necessary. `:memory:` stores nothing. */
export function openStateSqlite(file: string): StateStore & { bytes(namespace: string): number; close(): void } {
  const db = openSqliteFile(file);
  db.pragma('synchronous = FULL');
  migrateSqliteFile(db, ['state'], () => takeOverOldTable(db));
  const at = 'namespace = ? AND resource = ? AND key = ?';
  const alive = '(expires_at IS NULL OR expires_at > ?)';
  const select = db.prepare<unknown[], Row>(
    `SELECT value, is_text, metadata, expires_at, version FROM state WHERE ${at} AND ${alive}`,
  );
  const sizeOf = db.prepare<unknown[], { bytes: number }>(
    `SELECT octet_length(value) AS bytes FROM state WHERE ${at} AND ${alive}`,
  );
  const write = db.prepare(
    'INSERT INTO state (namespace, resource, key, value, is_text, metadata, expires_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, is_text = excluded.is_text, metadata = excluded.metadata, expires_at = excluded.expires_at, version = excluded.version',
  );
  const remove = db.prepare(`DELETE FROM state WHERE ${at}`);
  const removeAll = db.prepare('DELETE FROM state WHERE namespace = ?');
  const sweep = db.prepare('DELETE FROM state WHERE expires_at <= ?');
  const page = db.prepare<unknown[], { key: string; metadata: string | null; expires_at: number | null }>(
    `SELECT key, metadata, expires_at FROM state WHERE namespace = ? AND resource = ? AND key > ? AND key >= ? AND ${alive} ORDER BY key LIMIT ?`,
  );
  const kept = db.prepare<unknown[], { bytes: number }>(
    `SELECT coalesce(sum(octet_length(key) + octet_length(value) + coalesce(octet_length(metadata), 0) + ${ROW_BYTES}), 0) AS bytes
     FROM state WHERE namespace = ?`,
  );
  const newVersion = (): string => randomBytes(9).toString('base64url');

  const putIf = db.transaction((version: string | null, read: unknown[], row: unknown[]): boolean => {
    if ((select.get(...read)?.version ?? null) !== version) return false;
    write.run(...row);
    return true;
  });
  const change = db.transaction((read: unknown[], make: (before: Row | undefined) => unknown[]): void => {
    write.run(...make(select.get(...read)));
  });

  return {
    get({ namespace, resource }, keys, now) {
      let together = 0;
      if (keys.length > 1) for (const key of keys) together += sizeOf.get(namespace, resource, key, now)?.bytes ?? 0;
      checkValueBytes(together);
      return keys.map((key): StoredState | null => {
        const row = select.get(namespace, resource, key, now);
        return row === undefined
          ? null
          : {
              value: row.is_text === 1 ? row.value.toString() : row.value,
              metadata: row.metadata,
              expiresAt: row.expires_at,
              version: row.version,
            };
      });
    },
    put({ namespace, resource }, key, { value, metadata, expiresAt }, now, version) {
      const isText = typeof value === 'string';
      const bytes = isText ? Buffer.from(value) : value;
      const row = [namespace, resource, key, bytes, isText ? 1 : 0, metadata, expiresAt, newVersion()];
      if (expiresAt !== null) sweep.run(now);
      if (version !== undefined) return putIf.immediate(version, [namespace, resource, key, now], row);
      write.run(...row);
      return true;
    },
    delete: ({ namespace, resource }, key) => void remove.run(namespace, resource, key),
    list({ namespace, resource }, { prefix, after, limit }, now) {
      const keys: { name: string; metadata: string | null; expiresAt: number | null }[] = [];
      for (const row of page.iterate(namespace, resource, after ?? '', prefix, now, limit + 1)) {
        if (!row.key.startsWith(prefix)) break;
        keys.push({ name: row.key, metadata: row.metadata, expiresAt: row.expires_at });
      }
      const more = keys.length > limit;
      return { keys: more ? keys.slice(0, limit) : keys, more };
    },
    update({ namespace, resource }, key, make, now) {
      let after = '';
      change.immediate([namespace, resource, key, now], (before) => {
        after = make(before === undefined ? undefined : before.value.toString());
        return [
          namespace,
          resource,
          key,
          Buffer.from(after),
          1,
          before?.metadata ?? null,
          before?.expires_at ?? null,
          newVersion(),
        ];
      });
      return after;
    },
    clear: (namespace) => removeAll.run(namespace).changes,
    bytes: (namespace) => kept.get(namespace)!.bytes,
    close: () => void db.close(),
  };
}

// State in one SQLite file, for `platform dev`: no server, and strongly consistent since this process is its only
// writer.
import { randomBytes } from 'node:crypto';
import type { StateStore, StoredState } from '../engine/bindings/state.ts';
import { rowBytes } from './project-bounds.ts';
import { openSqliteFile } from './sqlite-file.ts';
import { checkValueBytes } from './state-value-bytes.ts';

interface Row {
  readonly value: string | Buffer;
  readonly metadata: string | null;
  readonly expires_at: number | null;
  readonly version: string;
}

const schema = `
CREATE TABLE IF NOT EXISTS state (
  namespace TEXT NOT NULL, resource TEXT NOT NULL, key TEXT NOT NULL,
  value ANY NOT NULL, metadata TEXT, expires_at INTEGER, version TEXT NOT NULL,
  PRIMARY KEY (namespace, resource, key)
) WITHOUT ROWID, STRICT`;

/** Opens the file, and makes it where there is none. `:memory:` keeps nothing. */
export function openStateSqlite(file: string): StateStore & { bytes(namespace: string): number; close(): void } {
  const db = openSqliteFile(file);
  db.pragma('synchronous = FULL');
  db.exec(schema);
  const at = 'namespace = ? AND resource = ? AND key = ?';
  const alive = '(expires_at IS NULL OR expires_at > ?)';
  const select = db.prepare<unknown[], Row>(
    `SELECT value, metadata, expires_at, version FROM state WHERE ${at} AND ${alive}`,
  );
  const sizeOf = db.prepare<unknown[], { bytes: number }>(
    `SELECT octet_length(value) AS bytes FROM state WHERE ${at} AND ${alive}`,
  );
  const write = db.prepare(
    'INSERT INTO state VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, metadata = excluded.metadata, expires_at = excluded.expires_at, version = excluded.version',
  );
  const remove = db.prepare(`DELETE FROM state WHERE ${at}`);
  const sweep = db.prepare('DELETE FROM state WHERE expires_at <= ?');
  const page = db.prepare<unknown[], { key: string; metadata: string | null; expires_at: number | null }>(
    `SELECT key, metadata, expires_at FROM state WHERE namespace = ? AND resource = ? AND key > ? AND key >= ? AND ${alive} ORDER BY key LIMIT ?`,
  );
  const kept = db.prepare<unknown[], { bytes: number }>(
    `SELECT coalesce(sum(octet_length(key) + octet_length(value) + coalesce(octet_length(metadata), 0) + ${rowBytes}), 0) AS bytes
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
          : { value: row.value, metadata: row.metadata, expiresAt: row.expires_at, version: row.version };
      });
    },
    put({ namespace, resource }, key, { value, metadata, expiresAt }, now, version) {
      const row = [namespace, resource, key, value, metadata, expiresAt, newVersion()];
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
        return [namespace, resource, key, after, before?.metadata ?? null, before?.expires_at ?? null, newVersion()];
      });
      return after;
    },
    bytes: (namespace) => kept.get(namespace)!.bytes,
    close: () => void db.close(),
  };
}

// Cached responses and values in Postgres (table binding.cache_record), shared by all engines, if no Redis is
// configured. Keys are stored as hashes, because a URL may be longer than an index allows.
import { createHash } from 'node:crypto';
import type { CacheStore } from '../engine/bindings/cache.ts';
import type { PostgresSql } from './sql-postgres.ts';

/**
 * One of this many writes also deletes expired records, and records above the limit, beginning with those that expire
 * first.
 */
const SWEEP_EVERY = 200;
const SWEEP_ROWS = 2000;

/** @param sql access to the tables of bindings; the caller closes it. */
export function createCachePostgres(
  sql: PostgresSql,
  options: { readonly recordsMax: number; readonly now?: () => number },
): CacheStore {
  const now = options.now ?? Date.now;
  const hashed = (key: string): string => createHash('sha256').update(key).digest('base64url');
  let writes = 0;

  async function sweep(): Promise<void> {
    await sql.all(
      `DELETE FROM cache_record WHERE ctid IN (SELECT ctid FROM cache_record WHERE expires_at <= $1 LIMIT ${SWEEP_ROWS})`,
      now(),
    );
    const [count] = await sql.all<{ records: number }>('SELECT count(*)::int AS records FROM cache_record');
    const excess = Math.min((count?.records ?? 0) - options.recordsMax, SWEEP_ROWS);
    if (excess > 0)
      await sql.all(
        'DELETE FROM cache_record WHERE ctid IN (SELECT ctid FROM cache_record ORDER BY expires_at LIMIT $1)',
        excess,
      );
  }

  return {
    async get(project, key) {
      const [row] = await sql.all<{ head: string; body: Buffer | null }>(
        'SELECT head, body FROM cache_record WHERE namespace = $1 AND key = $2 AND expires_at > $3',
        project,
        hashed(key),
        now(),
      );
      return row === undefined ? null : { head: row.head, body: row.body === null ? null : new Uint8Array(row.body) };
    },
    async set(project, key, { head, body }, lifeMs) {
      await sql.all(
        `INSERT INTO cache_record (namespace, key, head, body, expires_at) VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (namespace, key) DO UPDATE SET head = excluded.head, body = excluded.body, expires_at = excluded.expires_at`,
        project,
        hashed(key),
        head,
        body,
        Math.ceil(now() + lifeMs),
      );
      if (++writes % SWEEP_EVERY === 0) await sweep();
    },
    async delete(project, key) {
      const deleted = await sql.all(
        'DELETE FROM cache_record WHERE namespace = $1 AND key = $2 AND expires_at > $3 RETURNING 1 AS deleted',
        project,
        hashed(key),
        now(),
      );
      return deleted.length > 0;
    },
  };
}

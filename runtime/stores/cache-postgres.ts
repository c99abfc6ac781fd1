// Cached responses and texts in Postgres (table binding.cache_record), shared by all engines, where no Redis is given. Keys are kept by
// their hash: a URL may be longer than an index takes.
import { createHash } from 'node:crypto';
import type { CacheStore } from '../bindings/cache.ts';
import { guarded, type PostgresSql } from './sql-postgres.ts';

/** One in so many writes takes expired records away, and what exceeds the bound, the soonest to expire first. */
const sweepEvery = 200;
const sweepRows = 2000;

/** @param sql the tables of bindings; closed by who opened it. */
export function createCachePostgres(sql: PostgresSql, options: { readonly recordsMax: number; readonly now?: () => number }): CacheStore {
  const { pool } = sql;
  const now = options.now ?? Date.now;
  const hashed = (key: string): string => createHash('sha256').update(key).digest('base64url');
  let writes = 0;

  async function sweep(): Promise<void> {
    await pool`DELETE FROM cache_record WHERE ctid IN (SELECT ctid FROM cache_record WHERE expires_at <= ${now()} LIMIT ${sweepRows})`;
    const [count] = await pool<{ records: number }[]>`SELECT count(*)::int AS records FROM cache_record`;
    const excess = Math.min((count?.records ?? 0) - options.recordsMax, sweepRows);
    if (excess > 0) await pool`DELETE FROM cache_record WHERE ctid IN (SELECT ctid FROM cache_record ORDER BY expires_at LIMIT ${excess})`;
  }

  return {
    async get(project, key) {
      const [row] = await guarded(
        async () =>
          await pool<{ head: string; body: Buffer | null }[]>`SELECT head, body FROM cache_record
            WHERE namespace = ${project} AND key = ${hashed(key)} AND expires_at > ${now()}`,
      );
      return row === undefined ? null : { head: row.head, body: row.body === null ? null : new Uint8Array(row.body) };
    },
    async set(project, key, { head, body }, lifeMs) {
      const bytes = body === null ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      await guarded(async () => {
        await pool`INSERT INTO cache_record (namespace, key, head, body, expires_at)
          VALUES (${project}, ${hashed(key)}, ${head}, ${bytes}, ${Math.ceil(now() + lifeMs)})
          ON CONFLICT (namespace, key) DO UPDATE SET head = excluded.head, body = excluded.body, expires_at = excluded.expires_at`;
        if (++writes % sweepEvery === 0) await sweep();
      });
    },
    async delete(project, key) {
      const deleted = await guarded(
        async () =>
          await pool`DELETE FROM cache_record WHERE namespace = ${project} AND key = ${hashed(key)} AND expires_at > ${now()} RETURNING 1`,
      );
      return deleted.count > 0;
    },
  };
}

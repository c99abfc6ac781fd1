// State in Postgres, for production: strongly consistent over all engines. Values are stored as bytes, with a flag for
// text, since Postgres text cannot contain NUL. Concurrent reads are combined in one statement, and concurrent updates
// of one key in one transaction.
import { randomBytes } from 'node:crypto';
import type { StatePlace, StateStore, StoredState } from '../engine/bindings/state.ts';
import { createBatcher } from './batcher.ts';
import { prefixEnd } from './sql.ts';
import type { PostgresSql } from './sql-postgres.ts';
import { checkValueBytes } from './state-value-bytes.ts';
import { limitByProject } from './project-concurrency.ts';

interface Row {
  readonly key: string;
  readonly value: Buffer;
  readonly is_text: boolean;
  readonly metadata: string | null;
  readonly expires_at: number | null;
  readonly version: string;
}

interface Read {
  readonly place: StatePlace;
  readonly key: string;
  readonly now: number;
  readonly resolve: (found: StoredState | null) => void;
  readonly reject: (error: unknown) => void;
}

interface Write {
  readonly place: StatePlace;
  readonly key: string;
  /** The values of a row in the order of its columns; null deletes the row. */
  readonly row: readonly unknown[] | null;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Update {
  readonly change: (before: string | undefined) => string;
  readonly now: number;
  readonly resolve: (after: string) => void;
  readonly reject: (error: unknown) => void;
}

const insert = `INSERT INTO state (namespace, resource, key, value, is_text, metadata, expires_at, version)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;
const replace = `ON CONFLICT (namespace, resource, key) DO UPDATE SET value = excluded.value, is_text = excluded.is_text,
  metadata = excluded.metadata, expires_at = excluded.expires_at, version = excluded.version`;
const insertAll = `INSERT INTO state (namespace, resource, key, value, is_text, metadata, expires_at, version)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::boolean[], $6::text[], $7::bigint[], $8::text[]) ${replace}`;
const deleteAll = `DELETE FROM state s USING unnest($1::text[], $2::text[], $3::text[]) AS w (namespace, resource, key)
  WHERE s.namespace = w.namespace AND s.resource = w.resource AND s.key = w.key`;
const columns = 'key, value, is_text, metadata, expires_at, version';
/**
 * Larger values are read and written individually, because a batch of them would fill the engine's memory and delay all
 * other calls.
 */
const SMALL_BYTES_MAX = 64 * 1024;
const small = `key, CASE WHEN octet_length(value) <= ${SMALL_BYTES_MAX} THEN value END AS value, is_text, metadata, expires_at, version`;
const readAny = `SELECT ${small} FROM state
  WHERE namespace = $1 AND resource = $2 AND key = ANY($3::text[]) AND (expires_at IS NULL OR expires_at > $4)`;
const readAnywhere = `SELECT namespace, resource, ${small} FROM unnest($1::text[], $2::text[], $3::text[]) AS w (namespace, resource, key)
  JOIN state USING (namespace, resource, key) WHERE (expires_at IS NULL OR expires_at > $4)`;
/**
 * Maximum number of reads per flush, of writes per flush, and of concurrent flushes; and how long an item waits for a
 * running flush.
 */
const READS_MAX = 32;
const WRITES_MAX = 100;
const FLUSHES_MAX = 4;
const [READ_WAIT_MS, WRITE_WAIT_MS] = [2, 5];
/** Maximum number of bytes per flush of writes. */
const WRITE_BYTES_MAX = 1024 * 1024;
const SWEEP_ROWS = 500;
/** One of this many writes also deletes expired entries. */
const SWEEP_SHARE = 100;

/** @param sql the connection with the engines' role, which the caller closes. */
export function createStatePostgres(sql: PostgresSql): StateStore {
  const at = 'namespace = $1 AND resource = $2 AND key = $3';
  const alive = '(expires_at IS NULL OR expires_at > $4)';
  const waiting = new Map<string, Update[]>();
  const reads = createBatcher<Read>({
    flush: (items) => (items.length === 1 ? readAlone(items[0] as Read) : readTogether(items)),
    itemsMax: READS_MAX,
    flushesMax: FLUSHES_MAX,
    waitMs: READ_WAIT_MS,
  });
  const changes = createBatcher<Write>({
    flush: (items) => (items.length === 1 ? writeAlone(items[0] as Write) : writeTogether(items)),
    itemsMax: WRITES_MAX,
    flushesMax: FLUSHES_MAX,
    waitMs: WRITE_WAIT_MS,
    sizeOf: ({ bytes }) => bytes,
    sizeMax: WRITE_BYTES_MAX,
    keyOf: ({ place, key }) => toId(place, key),
  });
  /** Calls that run individually. */
  const limited = limitByProject();
  let writes = 0;

  const newVersion = (): string => randomBytes(9).toString('base64url');

  function sweep(now: number): void {
    if (++writes % SWEEP_SHARE !== 1) return;
    void sql
      .all(
        `DELETE FROM state WHERE ctid IN (SELECT ctid FROM state WHERE expires_at <= $1 LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED)`,
        now,
      )
      .catch(() => {});
  }

  function read(place: StatePlace, key: string, now: number): Promise<StoredState | null> {
    return new Promise((resolve, reject) => reads.add({ place, key, now, resolve, reject }));
  }

  function write(place: StatePlace, key: string, row: readonly unknown[] | null): Promise<void> {
    const bytes = row === null ? 0 : (row[3] as Buffer).byteLength;
    return new Promise((resolve, reject) => {
      const change = { place, key, row, bytes, resolve, reject };
      if (bytes > SMALL_BYTES_MAX) void limited(place.namespace, () => writeAlone(change));
      else changes.add(change);
    });
  }

  async function writeAlone({ place, key, row, resolve, reject }: Write): Promise<void> {
    try {
      if (row === null) await sql.all(`DELETE FROM state WHERE ${at}`, place.namespace, place.resource, key);
      else await sql.all(`${insert} ${replace}`, ...(row as never[]));
      resolve();
    } catch (error) {
      reject(error);
    }
  }

  /** Only the last write of each key is executed; earlier writes are treated as overwritten. */
  async function writeTogether(batch: readonly Write[]): Promise<void> {
    const last = new Map<string, Write>();
    for (const change of batch) last.set(toId(change.place, change.key), change);
    // Locks are acquired in a global order, so that two engines never deadlock.
    const ordered = [...last].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
    const rows = ordered.flatMap(({ row }) => (row === null ? [] : [row]));
    const gone = ordered.filter(({ row }) => row === null);
    try {
      if (rows.length > 0)
        await sql.all(insertAll, ...(rows[0]!.map((_, column) => rows.map((row) => row[column])) as never[]));
      if (gone.length > 0) {
        const keys = [
          gone.map(({ place }) => place.namespace),
          gone.map(({ place }) => place.resource),
          gone.map(({ key }) => key),
        ];
        await sql.all(deleteAll, ...(keys as never[]));
      }
    } catch (error) {
      // The updates are then run one by one, because one of them may be the cause, and the others must not fail with
      // it. After a lost connection, nothing is retried, because the outcome is unknown.
      if ((error as { code?: unknown }).code === 'store_unavailable') for (const { reject } of batch) reject(error);
      else for (const change of batch) await writeAlone(change);
      return;
    }
    for (const { resolve } of batch) resolve();
  }

  async function readAlone({ place, key, now, resolve, reject }: Read): Promise<void> {
    try {
      const [row] = await sql.all<Row>(
        `SELECT ${columns} FROM state WHERE ${at} AND ${alive}`,
        place.namespace,
        place.resource,
        key,
        now,
      );
      resolve(row === undefined ? null : toRecord(row));
    } catch (error) {
      reject(error);
    }
  }

  async function readTogether(batch: readonly Read[]): Promise<void> {
    const { namespace, resource } = batch[0]!.place;
    const isOnePlace = batch.every(({ place }) => place.namespace === namespace && place.resource === resource);
    const found = new Map<string, Row>();
    // The later updates also began before this statement.
    const now = Math.max(...batch.map(({ now: time }) => time));
    try {
      const rows = isOnePlace
        ? await sql.all<Row>(readAny, namespace, resource, batch.map(({ key }) => key) as never, now)
        : await sql.all<Row & StatePlace>(
            readAnywhere,
            batch.map(({ place }) => place.namespace) as never,
            batch.map(({ place }) => place.resource) as never,
            batch.map(({ key }) => key) as never,
            now,
          );
      for (const row of rows) found.set(isOnePlace ? row.key : toId(row as Row & StatePlace, row.key), row);
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const read of batch) {
      const row = found.get(isOnePlace ? read.key : toId(read.place, read.key));
      if (row === undefined) read.resolve(null);
      else if ((row.value as Buffer | null) === null) void limited(read.place.namespace, () => readAlone(read));
      else read.resolve(toRecord(row));
    }
  }

  async function bytesOf({ namespace, resource }: StatePlace, keys: readonly string[]): Promise<number> {
    const [row] = await sql.all<{ bytes: number }>(
      `SELECT coalesce(sum(octet_length(value)), 0)::bigint AS bytes FROM unnest($3::text[]) AS w (key) JOIN state USING (key)
       WHERE namespace = $1 AND resource = $2`,
      namespace,
      resource,
      keys as never,
    );
    return row!.bytes;
  }

  /** Applies the waiting changes of a key in sequence; a change that throws fails alone. */
  async function apply(place: StatePlace, key: string, updates: readonly Update[]): Promise<void> {
    while (!(await tryApply(place, key, updates)));
  }

  /** Returns false if the row was created in the meantime, because a missing row cannot be locked. */
  async function tryApply(
    { namespace, resource }: StatePlace,
    key: string,
    updates: readonly Update[],
  ): Promise<boolean> {
    const settled: (() => void)[] = [];
    const applied = await sql.transaction(async (inside) => {
      const [row] = await inside.all<Row>(
        `SELECT ${columns} FROM state WHERE ${at} FOR UPDATE`,
        namespace,
        resource,
        key,
      );
      let { metadata = null, expires_at: expiresAt = null } = row ?? {};
      let text = row === undefined ? undefined : row.value.toString();
      let written = false;
      for (const { change, now, resolve, reject } of updates) {
        if (expiresAt !== null && expiresAt <= now) [text, metadata, expiresAt] = [undefined, null, null];
        try {
          const after = change(text);
          text = after;
          written = true;
          settled.push(() => resolve(after));
        } catch (error) {
          settled.push(() => reject(error));
        }
      }
      if (!written) return true;
      const values = [namespace, resource, key, Buffer.from(text!), true, metadata, expiresAt, newVersion()];
      if (row !== undefined) await inside.all(`${insert} ${replace}`, ...(values as never[]));
      else return (await inside.all(`${insert} ON CONFLICT DO NOTHING RETURNING 1`, ...(values as never[]))).length > 0;
      return true;
    });
    if (applied) for (const settle of settled) settle();
    return applied;
  }

  async function work(id: string, place: StatePlace, key: string): Promise<void> {
    for (let updates = waiting.get(id)!; updates.length > 0; updates = waiting.get(id)!) {
      waiting.set(id, []);
      await limited(place.namespace, () => apply(place, key, updates)).catch((error: unknown) => {
        for (const { reject } of updates) reject(error);
      });
    }
    waiting.delete(id);
  }

  return {
    async get(place, keys, now) {
      if (keys.length > 1) checkValueBytes(await bytesOf(place, keys));
      return Promise.all(keys.map((key) => read(place, key, now)));
    },
    async put({ namespace, resource }, key, { value, metadata, expiresAt }, now, version) {
      if (expiresAt !== null) sweep(now);
      const bytes =
        typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      const row = [namespace, resource, key, bytes, typeof value === 'string', metadata, expiresAt, newVersion()];
      if (version === undefined) {
        await write({ namespace, resource }, key, row);
        return true;
      }
      if (version !== null) {
        const written = await sql.all(
          `UPDATE state SET value = $4, is_text = $5, metadata = $6, expires_at = $7, version = $8
           WHERE ${at} AND version = $9 AND (expires_at IS NULL OR expires_at > $10) RETURNING 1`,
          ...(row as never[]),
          version,
          now,
        );
        return written.length > 0;
      }
      const written = await sql.all(
        `${insert} ${replace} WHERE state.expires_at <= $9 RETURNING 1`,
        ...(row as never[]),
        now,
      );
      return written.length > 0;
    },
    delete: (place, key) => write(place, key, null),
    async list({ namespace, resource }, { prefix, after, limit }, now) {
      const list = (): Promise<Pick<Row, 'key' | 'metadata' | 'expires_at'>[]> =>
        sql.all(
          `SELECT key, metadata, expires_at FROM state WHERE namespace = $1 AND resource = $2 AND key > $3 AND key >= $4
           AND key < $5 AND (expires_at IS NULL OR expires_at > $6) ORDER BY key LIMIT $7`,
          namespace,
          resource,
          after ?? '',
          prefix,
          prefixEnd(prefix),
          now,
          limit + 1,
        );
      const rows = await limited(namespace, list);
      const keys = rows
        .slice(0, limit)
        .map(({ key: name, metadata, expires_at: expiresAt }) => ({ name, metadata, expiresAt }));
      return { keys, more: rows.length > limit };
    },
    update(place, key, change, now) {
      const id = JSON.stringify([place.namespace, place.resource, key]);
      return new Promise((resolve, reject) => {
        const queued = waiting.get(id);
        const update = { change, now, resolve, reject };
        if (queued !== undefined) {
          queued.push(update);
          return;
        }
        waiting.set(id, [update]);
        void work(id, place, key);
      });
    },
    async clear(namespace) {
      for (let count = 0; ;) {
        const { length } = await sql.all(
          `DELETE FROM state WHERE ctid IN (SELECT ctid FROM state WHERE namespace = $1 LIMIT ${SWEEP_ROWS}) RETURNING 1`,
          namespace,
        );
        count += length;
        if (length === 0) return count;
      }
    },
  };
}

/** No part of a resource address contains NUL. */
function toId({ namespace, resource }: StatePlace, key: string): string {
  return `${namespace}\0${resource}\0${key}`;
}

function toRecord({ value, is_text: isText, metadata, expires_at: expiresAt, version }: Row): StoredState {
  return { value: isText ? value.toString() : new Uint8Array(value), metadata, expiresAt, version };
}

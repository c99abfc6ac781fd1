// State in Postgres (table binding.state). Updates of one key that come while another is on its way to the server are applied together
// and written once: a counter that everybody increments costs a round trip for all who wait, not one each.
import { randomBytes } from 'node:crypto';
import type { StatePlace, StateRecord, StateStore, StoredState } from '../bindings/state.ts';
import { guarded, type PostgresSql } from './sql-postgres.ts';

interface Row {
  readonly key: string;
  readonly value: Buffer;
  readonly is_text: boolean;
  readonly metadata: string | null;
  readonly expires_at: number | null;
  readonly version: string;
}

/** One caller of `update`. */
interface Waiting {
  readonly change: (before: string | undefined) => string;
  readonly resolve: (after: string) => void;
  readonly reject: (error: unknown) => void;
}

/** Tries of a write that another engine came before. */
const attemptsMax = 50;
/** One in so many writes with a life takes expired records away, at most so many. */
const sweepEvery = 100;
const sweepRows = 1000;

/** @param sql the tables of bindings; closed by who opened it. */
export function createStatePostgres(sql: PostgresSql): StateStore {
  const { pool } = sql;
  const updating = new Map<string, Waiting[]>();
  let writes = 0;

  const newVersion = (): string => randomBytes(9).toString('base64url');

  async function read({ namespace, resource }: StatePlace, keys: readonly string[], now: number): Promise<Row[]> {
    return guarded(
      async () =>
        await pool<Row[]>`SELECT key, value, is_text, metadata, expires_at, version FROM state
          WHERE namespace = ${namespace} AND resource = ${resource} AND key = ANY(${keys as string[]})
            AND (expires_at IS NULL OR expires_at > ${now})`,
    );
  }

  /** @param version writes only over this one; null only where nothing is alive; undefined over anything. */
  async function write(
    { namespace, resource }: StatePlace,
    key: string,
    { value, metadata, expiresAt }: StateRecord,
    now: number,
    version: string | null | undefined,
  ): Promise<boolean> {
    const isText = typeof value === 'string';
    const bytes = Buffer.from(value as string);
    const next = newVersion();
    const written = await guarded(async () => {
      if (typeof version === 'string')
        return await pool`UPDATE state SET value = ${bytes}, is_text = ${isText}, metadata = ${metadata}, expires_at = ${expiresAt}, version = ${next}
          WHERE namespace = ${namespace} AND resource = ${resource} AND key = ${key} AND version = ${version}
            AND (expires_at IS NULL OR expires_at > ${now})`;
      return await pool`INSERT INTO state (namespace, resource, key, value, is_text, metadata, expires_at, version)
        VALUES (${namespace}, ${resource}, ${key}, ${bytes}, ${isText}, ${metadata}, ${expiresAt}, ${next})
        ON CONFLICT (namespace, resource, key) DO UPDATE SET value = excluded.value, is_text = excluded.is_text,
          metadata = excluded.metadata, expires_at = excluded.expires_at, version = excluded.version
        ${version === null ? pool`WHERE state.expires_at <= ${now}` : pool``}`;
    });
    if (expiresAt !== null && ++writes % sweepEvery === 0)
      await guarded(
        async () => await pool`DELETE FROM state WHERE ctid IN (SELECT ctid FROM state WHERE expires_at <= ${now} LIMIT ${sweepRows})`,
      );
    return written.count === 1;
  }

  /** Applies all who wait for a key, again and again until nobody does. */
  async function apply(place: StatePlace, key: string, now: number, id: string): Promise<void> {
    for (let waiting = updating.get(id)!; waiting.length > 0;) {
      const together = waiting.splice(0);
      try {
        await applyTogether(place, key, now, together);
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    updating.delete(id);
  }

  async function applyTogether(place: StatePlace, key: string, now: number, together: readonly Waiting[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const [before] = await read(place, [key], now);
      let text = before?.value.toString();
      const ends: (() => void)[] = [];
      let changed = false;
      for (const { change, resolve, reject } of together) {
        try {
          const after = change(text);
          text = after;
          changed = true;
          ends.push(() => resolve(after));
        } catch (error) {
          // Its own affair: the others go on from what was there before it.
          ends.push(() => reject(error));
        }
      }
      const record = { value: text ?? '', metadata: before?.metadata ?? null, expiresAt: before?.expires_at ?? null };
      if (!changed || (await write(place, key, record, now, before?.version ?? null))) {
        for (const end of ends) end();
        return;
      }
      if (attempt === attemptsMax) throw new Error(`The key was written ${attemptsMax} times while it was being updated`);
    }
  }

  return {
    async get(place, keys, now) {
      const rows = new Map((await read(place, keys, now)).map((row) => [row.key, row]));
      return keys.map((key): StoredState | null => {
        const row = rows.get(key);
        if (row === undefined) return null;
        const { value, is_text: isText, metadata, expires_at: expiresAt, version } = row;
        return { value: isText ? value.toString() : value, metadata, expiresAt, version };
      });
    },
    put: write,
    async delete({ namespace, resource }, key) {
      await guarded(async () => await pool`DELETE FROM state WHERE namespace = ${namespace} AND resource = ${resource} AND key = ${key}`);
    },
    async list({ namespace, resource }, { prefix, after, limit }, now) {
      const rows = await guarded(
        async () =>
          await pool<Row[]>`SELECT key, metadata, expires_at FROM state
            WHERE namespace = ${namespace} AND resource = ${resource} AND key > ${after ?? ''} AND key >= ${prefix} AND starts_with(key, ${prefix})
              AND (expires_at IS NULL OR expires_at > ${now})
            ORDER BY key LIMIT ${limit + 1}`,
      );
      const keys = rows.slice(0, limit).map(({ key, metadata, expires_at: expiresAt }) => ({ name: key, metadata, expiresAt }));
      return { keys, more: rows.length > limit };
    },
    update(place, key, change, now) {
      const id = JSON.stringify([place.namespace, place.resource, key]);
      return new Promise((resolve, reject) => {
        const waiting = updating.get(id);
        if (waiting !== undefined) {
          waiting.push({ change, resolve, reject });
          return;
        }
        updating.set(id, [{ change, resolve, reject }]);
        void apply(place, key, now, id);
      });
    },
  };
}

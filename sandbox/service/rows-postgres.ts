// Rows of sandboxes in Postgres: `sandbox.sandbox`, leased by replicas. The service's role can access that table, and
// see which projects were deleted (postgres/migrations).
import type { Postgres } from '#postgres/connection.ts';
import { BUILD_RESOURCE, type SandboxPlace, type SandboxState } from '#core/sandbox/operations.ts';
import { storedOptions, writtenOptions } from '#core/sandbox/options.ts';
import { newKey } from './rows-memory.ts';
import { dueFor, type IdleTimes, type SandboxRow, type SandboxRows } from './rows.ts';

interface Stored {
  readonly key: string;
  readonly project: string;
  readonly resource: string;
  readonly id: string;
  readonly provider: string;
  readonly state: SandboxState;
  readonly options: unknown;
  readonly created_at: number;
  readonly last_active_at: number;
}

const MS = `(extract(epoch FROM %) * 1000)::float8`;
const COLUMNS = `key, project, resource, id, provider, state, options,
  ${MS.replace('%', 'created_at')} AS created_at, ${MS.replace('%', 'last_active_at')} AS last_active_at`;
const IS_FREE = '(owner IS NULL OR owner = $1 OR lease_until < now())';
/** Whether the organization of the project $3 has reached its storage limit (control/storage/). */
const IS_STORAGE_FULL = `EXISTS (
  SELECT FROM control.project p JOIN control.organization o ON o.id = p.organization_id
  WHERE p.name = $3 AND p.deleted_at IS NULL AND o.storage_full)`;
const FROM_MS = (parameter: string): string => `to_timestamp(${parameter}::float8 / 1000)`;
/** Maximum rows per query. */
const DUE_MAX = 200;

/** @param owner this replica's name, see replicas.ts. */
export function createPostgresRows(given: {
  readonly sql: Postgres;
  readonly owner: string;
  readonly provider: string;
  readonly perProjectMax: number;
  readonly leaseMs: number;
  readonly times: IdleTimes;
}): SandboxRows {
  const { sql, owner, provider, perProjectMax, leaseMs, times } = given;
  const lease = `now() + ${leaseMs} * interval '1 millisecond'`;

  /** The holder of a sandbox; null if no replica holds it, undefined if the sandbox does not exist. */
  async function holderOf({ project, resource, id }: SandboxPlace) {
    const [row] = await sql.all<{ owner: string | null; lease_ms: number }>(
      `SELECT owner, ${MS.replace('%', '(lease_until - now())')} AS lease_ms
       FROM sandbox.sandbox WHERE project = $1 AND resource = $2 AND id = $3`,
      project,
      resource,
      id,
    );
    if (row === undefined) return undefined;
    return row.owner === null ? null : { owner: row.owner, leaseMs: row.lease_ms };
  }

  async function isStorageFull(project: string): Promise<boolean> {
    const [row] = await sql.all<{ full: boolean }>(`SELECT ${IS_STORAGE_FULL.replace('$3', '$1')} AS full`, project);
    return row!.full;
  }

  return {
    async claim(place) {
      const { project, resource, id } = place;
      for (;;) {
        const [row] = await sql.all<Stored>(
          `INSERT INTO sandbox.sandbox AS s (key, project, resource, id, provider, state, owner, lease_until)
           SELECT $2, $3, $4, $5, $6, 'creating', $1, ${lease}
           WHERE ((SELECT count(*) FROM sandbox.sandbox
               WHERE project = $3 AND (resource = '${BUILD_RESOURCE}') = ($4 = '${BUILD_RESOURCE}')) < $7
               AND NOT ${IS_STORAGE_FULL})
             OR EXISTS (SELECT FROM sandbox.sandbox WHERE project = $3 AND resource = $4 AND id = $5)
           ON CONFLICT (project, resource, id) DO UPDATE SET owner = $1, lease_until = ${lease}
           WHERE s.owner IS NULL OR s.owner = $1 OR s.lease_until < now()
           RETURNING ${COLUMNS}`,
          owner,
          newKey(),
          project,
          resource,
          id,
          provider,
          perProjectMax,
        );
        if (row !== undefined) return { is: 'ours', row: rowOf(row) };
        const holder = await holderOf(place);
        if (holder === undefined) return { is: (await isStorageFull(project)) ? 'storage_full' : 'full' };
        // The sandbox was released in the meantime, so it can be claimed now.
        if (holder !== null && holder.owner !== owner) return { is: 'held', ...holder };
      }
    },
    async claimKey(key) {
      const [row] = await sql.all<Stored>(
        `UPDATE sandbox.sandbox SET owner = $1, lease_until = ${lease} WHERE key = $2 AND ${IS_FREE} RETURNING ${COLUMNS}`,
        owner,
        key,
      );
      return row === undefined ? null : rowOf(row);
    },
    async save(key, state, lastActiveAt) {
      const rows = await sql.all(
        `UPDATE sandbox.sandbox SET state = $3, last_active_at = ${FROM_MS('$4')}, lease_until = ${lease}
         WHERE key = $2 AND owner = $1 RETURNING key`,
        owner,
        key,
        state,
        lastActiveAt,
      );
      return rows.length > 0;
    },
    async saveSizes(sizes) {
      await sql.all(
        `UPDATE sandbox.sandbox s SET disk_bytes = found.bytes
         FROM unnest($1::text[], $2::bigint[]) AS found (key, bytes)
         WHERE s.key = found.key AND s.disk_bytes IS DISTINCT FROM found.bytes`,
        [...sizes.keys()],
        [...sizes.values()],
      );
    },
    async saveOptions(key, options) {
      const rows = await sql.all(
        `UPDATE sandbox.sandbox SET options = $3::text::jsonb, lease_until = ${lease}
         WHERE key = $2 AND owner = $1 RETURNING key`,
        owner,
        key,
        writtenOptions(options),
      );
      return rows.length > 0;
    },
    async renew(keys) {
      const rows = await sql.all<{ key: string }>(
        `UPDATE sandbox.sandbox SET lease_until = ${lease} WHERE key = ANY($2::text[]) AND owner = $1 RETURNING key`,
        owner,
        keys,
      );
      return rows.map(({ key }) => key);
    },
    async release(key) {
      await sql.all(
        'UPDATE sandbox.sandbox SET owner = NULL, lease_until = NULL WHERE key = $2 AND owner = $1',
        owner,
        key,
      );
    },
    async remove(key) {
      await sql.all('DELETE FROM sandbox.sandbox WHERE key = $2 AND owner = $1', owner, key);
    },
    async find({ project, resource, id }) {
      const [row] = await sql.all<Stored>(
        `SELECT ${COLUMNS} FROM sandbox.sandbox WHERE project = $1 AND resource = $2 AND id = $3`,
        project,
        resource,
        id,
      );
      return row === undefined ? null : rowOf(row);
    },
    async list({ project, resource }, { prefix, cursor, limit }) {
      const rows = await sql.all<Stored>(
        `SELECT ${COLUMNS} FROM sandbox.sandbox
         WHERE project = $1 AND resource = $2 AND starts_with(id, $3) AND id > $4 COLLATE "C"
         ORDER BY id COLLATE "C" LIMIT $5`,
        project,
        resource,
        prefix,
        cursor,
        limit,
      );
      return rows.map(rowOf);
    },
    placesOf: (project) =>
      sql.all<SandboxPlace>('SELECT project, resource, id FROM sandbox.sandbox WHERE project = $1', project),
    async due() {
      const least = Math.min(...[times.idleMs, times.stopMs, times.destroyMs].filter((ms) => ms > 0), 2 ** 40);
      const rows = await sql.all<Stored & { is_deleted: boolean; now: number }>(
        `SELECT * FROM (
           SELECT ${COLUMNS}, ${MS.replace('%', 'now()')} AS now, EXISTS (
             SELECT FROM control.project p WHERE p.name = s.project AND p.deleted_at > s.created_at) AS is_deleted
           FROM sandbox.sandbox s WHERE ${IS_FREE}) AS free
         WHERE is_deleted OR now - last_active_at >= $2 ORDER BY last_active_at LIMIT ${DUE_MAX}`,
        owner,
        least,
      );
      return rows.flatMap((row) => {
        const what = row.is_deleted ? 'destroy' : dueFor(rowOf(row), times, row.now);
        return what === null ? [] : [{ key: row.key, what }];
      });
    },
    async known(keys) {
      const rows = await sql.all<{ key: string }>('SELECT key FROM sandbox.sandbox WHERE key = ANY($1::text[])', keys);
      return new Set(rows.map(({ key }) => key));
    },
    close: () => sql.close(),
  };
}

function rowOf({
  key,
  project,
  resource,
  id,
  provider,
  state,
  options,
  created_at,
  last_active_at,
}: Stored): SandboxRow {
  return {
    key,
    place: { project, resource, id },
    provider,
    state,
    options: storedOptions(options),
    createdAt: Math.round(created_at),
    lastActiveAt: Math.round(last_active_at),
  };
}

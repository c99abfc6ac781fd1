// Files of `routes/` as encrypted rows, for machines without a shared folder. Each change has a number and a NOTIFY, so
// that mirrors read only new changes.
import { createHash } from 'node:crypto';
import { readRoute, recordText } from '#artifacts/route-records.ts';
import { macOf, sealFile, unsealFile, type RouteKeys, type SealedFile } from '#artifacts/sealed-route.ts';
import { storageLeftText, STORAGE_FILE } from '#core/storage-left.ts';
import type { Sql } from '#postgres/sql.ts';
import type { RouteFiles } from '#artifacts/route-files.ts';

/** Numbers are assigned one at a time, so that no number appears after a larger number. */
const LOCK = 752_834_101;

/** @param folder `FS_PATH` of this machine. */
export function openRoutesPostgres(sql: Sql, keys: RouteKeys, folder: string): RouteFiles {
  async function write(name: string, file: SealedFile | null): Promise<void> {
    const { mac, sealed } = file ?? { mac: null, sealed: null };
    await sql.begin(async (tx) => {
      await tx`SELECT pg_advisory_xact_lock(${LOCK})`;
      const written = await tx`
        INSERT INTO binding.route_file (name, seq, mac, sealed)
        SELECT ${name}, coalesce(max(seq), 0) + 1, ${mac}::bytea, ${sealed}::bytea FROM binding.route_file
        ON CONFLICT (name) DO UPDATE SET seq = EXCLUDED.seq, mac = EXCLUDED.mac, sealed = EXCLUDED.sealed,
          changed_at = now()
        WHERE route_file.mac IS DISTINCT FROM EXCLUDED.mac
        RETURNING 1`;
      if (written.length > 0) await tx`SELECT pg_notify('binding_route', '')`;
    });
  }

  return {
    async hashOf(project) {
      const name = fileOf(project);
      const [row] = await sql<SealedFile[]>`
        SELECT mac, sealed FROM binding.route_file WHERE name = ${name} AND mac IS NOT NULL`;
      if (row === undefined) return '';
      return createHash('sha256')
        .update(unsealFile(keys, name, row))
        .digest('hex');
    },
    async outdated(records) {
      const names = records.map(({ project }) => fileOf(project));
      const rows = await sql<{ name: string; mac: Buffer }[]>`
        SELECT name, mac FROM binding.route_file WHERE name = ANY(${names}) AND mac IS NOT NULL`;
      const stored = new Map(rows.map(({ name, mac }) => [name, mac]));
      const found = records.filter((record) => {
        const name = fileOf(record.project);
        return stored.get(name)?.equals(macOf(keys, name, recordText(record))) !== true;
      });
      return new Set(found.map(({ project }) => project));
    },
    replace(record) {
      const name = fileOf(record.project);
      return write(name, sealFile(keys, name, recordText(record)));
    },
    remove: (project) => write(fileOf(project), null),
    leaveStorage: (left) => write(STORAGE_FILE, sealFile(keys, STORAGE_FILE, storageLeftText(left))),
    async unmanaged(project) {
      // A name that ever had a row stays managed, because a mirror may not have deleted its file yet.
      const [row] = await sql`SELECT FROM binding.route_file WHERE name = ${fileOf(project)}`;
      return row === undefined ? readRoute(folder, project) : null;
    },
  };
}

function fileOf(project: string): string {
  return `${project}.json`;
}

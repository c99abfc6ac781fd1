// Limits the data that builds leave behind: caches of projects, and logs. The least recently used cache is deleted
// first. Runs when the builder starts, and periodically.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { BuildLimits } from '#core/limits.ts';
import type { Sql } from '#postgres/sql.ts';
import { bytesOf } from './machine/disk-space.ts';

interface RetentionOptions {
  readonly sql: Sql;
  readonly caches: string;
  readonly limits: Pick<BuildLimits, 'cachesBytesMax' | 'cacheBytesMax' | 'logsBytesMax'>;
  readonly signal: AbortSignal;
}

const FIRST_MS = 5000;
const EVERY_MS = 600_000;
/** When a limit is exceeded, usage is reduced to this fraction, so that not every build triggers a cleanup. */
const DOWN_TO = 0.9;
/** Size of a log row besides its text. */
const ROW_BYTES = 80;

/** Enforces the limits periodically until `signal` aborts. */
export async function removeOldest(options: RetentionOptions): Promise<void> {
  const { signal } = options;
  for (let waitMs = FIRST_MS; ; waitMs = EVERY_MS) {
    await pause(waitMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    await removeCachesOfDeleted(options.sql, options.caches);
    await removeCaches(options.caches, options.limits);
    await removeLogs(options.sql, options.limits.logsBytesMax);
  }
}

/**
 * The cache folder of a build. A build runs programs from its cache, such as a package manager, with its variables.
 * Previews therefore never write to production's cache.
 *
 * @example cacheOf('prj_1', 'preview') // 'prj_1.preview'
 */
export function cacheOf(projectId: string, target: 'production' | 'preview'): string {
  return `${projectId}.${target}`;
}

interface CacheEntry {
  readonly path: string;
  readonly project: string;
  readonly bytes: number;
  readonly usedAt: number;
}

/** Deletes the caches of deleted projects. */
export async function removeCachesOfDeleted(sql: Sql, caches: string): Promise<void> {
  const folders = await readdir(caches).catch(() => []);
  const deleted = await sql<{ id: string }[]>`
    SELECT id FROM control.project
    WHERE id = ANY(${folders.map(projectOf)}) AND deleted_at IS NOT NULL`;
  const ids = new Set(deleted.map(({ id }) => id));
  for (const folder of folders)
    if (ids.has(projectOf(folder))) await rm(join(caches, folder), { recursive: true, force: true });
}

/** The project of a folder named by {@link cacheOf}. */
function projectOf(folder: string): string {
  return folder.split('.', 1)[0]!;
}

/** @returns the number of deleted bytes. */
export async function removeCaches(
  caches: string,
  { cachesBytesMax, cacheBytesMax }: Pick<BuildLimits, 'cachesBytesMax' | 'cacheBytesMax'>,
): Promise<number> {
  const entries: CacheEntry[] = [];
  for (const folder of await readdir(caches).catch(() => []))
    for (const name of await readdir(join(caches, folder)).catch(() => [])) {
      const path = join(caches, folder, name);
      const found = await stat(path).catch(() => null);
      const project = projectOf(folder);
      if (found !== null) entries.push({ path, project, bytes: await bytesOf(path), usedAt: found.mtimeMs });
    }
  let removed = 0;
  const remove = async (list: readonly CacheEntry[], bytesMax: number): Promise<void> => {
    let bytes = sumOf(list);
    if (bytes <= bytesMax) return;
    for (const entry of list.toSorted((one, other) => one.usedAt - other.usedAt)) {
      if (bytes <= bytesMax * DOWN_TO) return;
      await rm(entry.path, { recursive: true, force: true });
      entries.splice(entries.indexOf(entry), 1);
      bytes -= entry.bytes;
      removed += entry.bytes;
    }
  };
  for (const ofProject of Map.groupBy([...entries], ({ project }) => project).values())
    await remove(ofProject, cacheBytesMax);
  await remove([...entries], cachesBytesMax);
  return removed;
}

function sumOf(entries: readonly CacheEntry[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Deletes the logs of the oldest finished deployments. @returns the number of deployments. */
export async function removeLogs(sql: Sql, bytesMax: number): Promise<number> {
  const [table] = await sql<{ bytes: number }[]>`SELECT pg_table_size('control.build_log') AS bytes`;
  // The table size includes free space of deleted rows, but the sum below does not. If only free space exceeds the
  // limit, nothing is deleted.
  if (table!.bytes <= bytesMax) return 0;
  const removed = await sql<{ deployments: number }[]>`
    WITH sizes AS (
      SELECT deployment_id, sum(pg_column_size(text) + ${ROW_BYTES}::int) AS bytes, max(at) AS at
      FROM control.build_log GROUP BY deployment_id
    ), running AS (
      SELECT deployment_id, sum(bytes) OVER (ORDER BY at DESC, deployment_id) AS so_far, sum(bytes) OVER () AS total FROM sizes
    ), gone AS (
      SELECT r.deployment_id FROM running r JOIN control.deployment d ON d.id = r.deployment_id
      WHERE r.total > ${bytesMax} AND r.so_far > ${bytesMax * DOWN_TO}::float8
        AND d.status IN ('success', 'failure', 'timeout', 'canceled')
    ), removed AS (DELETE FROM control.build_log l USING gone g WHERE l.deployment_id = g.deployment_id)
    SELECT count(*)::int AS deployments FROM gone`;
  return removed[0]!.deployments;
}

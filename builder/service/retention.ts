// What builds leave behind has a bound: caches of projects, and logs. What was used least recently goes first. Called
// when the builder starts and now and then while it runs.
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
/** What is over a bound goes down to this part of it, so that not each build removes something. */
const DOWN_TO = 0.9;
/** What a row of a log takes besides its text. */
const ROW_BYTES = 80;

/** Removes what is over its bound, again and again until `signal` aborts. */
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
 * Which folder of the caches a build has. What lies there is run by the next build, as a package manager is, with the
 * variables of production where it is one: previews never write what those read.
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

/** Removes the caches of deleted projects. */
export async function removeCachesOfDeleted(sql: Sql, caches: string): Promise<void> {
  const folders = await readdir(caches).catch(() => []);
  const deleted = await sql<{ id: string }[]>`
    SELECT id FROM control.project
    WHERE id = ANY(${folders.map(projectOf)}) AND deleted_at IS NOT NULL`;
  const ids = new Set(deleted.map(({ id }) => id));
  for (const folder of folders)
    if (ids.has(projectOf(folder))) await rm(join(caches, folder), { recursive: true, force: true });
}

/** Of a folder that {@link cacheOf} names. */
function projectOf(folder: string): string {
  return folder.split('.', 1)[0]!;
}

/** @returns bytes that were removed. */
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

/** Removes the logs of the oldest deployments that have ended. @returns how many deployments have none any more. */
export async function removeLogs(sql: Sql, bytesMax: number): Promise<number> {
  const [table] = await sql<{ bytes: number }[]>`SELECT pg_table_size('control.build_log') AS bytes`;
  // Room that removed rows have left counts here and not below: then there is nothing to remove.
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

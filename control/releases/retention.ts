// Retention: deletes artifacts that no URL, rollback or running release needs, except the newest of each project; old
// log lines; expired uploads; unreachable commits in repositories; and leftovers of killed processes.
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pause } from '#core/process/wake.ts';
import { readRoutes } from '#artifacts/route-records.ts';
import { listArtifacts } from '#artifacts/store/artifact-store-disk.ts';
import { shrinkRepositories } from '../repositories/shrink.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { touchRoute, untilRouted, writeRoute } from './project-routes.ts';
import { removeExpiredUploads } from './uploads.ts';

/** Newest deployments per project whose artifacts are always kept; default of the setting `keepDeployments`. */
const KEEP_DEFAULT = 20;
const LOG_DAYS = 30;
/** A build stores its artifact before the database refers to it. */
const YOUNG_MS = 6 * 3_600_000;
const LEFTOVER_MS = 24 * 3_600_000;
const EVERY_MS = 3_600_000;
const TOGETHER = 200;

/** How much one round of the cleanup removed. */
interface Retired {
  readonly deployments: number;
  readonly artifacts: number;
  readonly logLines: number;
  readonly uploads: number;
  /** Repositories on the platform that were shrunk or removed. */
  readonly repositories: number;
}

/** Runs once an hour until the process ends. */
export async function keepRetention(deps: Dependencies): Promise<void> {
  while (!deps.stopping.aborted) {
    // The first round does not run immediately at the start.
    await pause(EVERY_MS, deps.stopping);
    if (deps.stopping.aborted) return;
    try {
      const retired = await retire(deps);
      deps.log.info({ ...retired }, 'Retention done');
    } catch (error) {
      if (!deps.stopping.aborted) deps.log.error({ err: error }, 'Retention failed');
    }
  }
}

/** Runs one round. */
export async function retire(deps: Dependencies): Promise<Retired> {
  const deployments = await retireDeployments(deps);
  const [{ count: logLines } = { count: 0 }] = await deps.sql<{ count: number }[]>`
    WITH gone AS (
      DELETE FROM control.build_log WHERE deployment_id IN (
        SELECT id FROM control.deployment d WHERE d.updated_at < now() - ${LOG_DAYS} * interval '1 day'
          AND d.status IN ('success', 'failure', 'timeout', 'canceled')
          AND d.id NOT IN (SELECT production_deployment_id FROM control.project WHERE production_deployment_id IS NOT NULL)
      ) RETURNING 1)
    SELECT count(*) AS count FROM gone`;
  // Results of the migrations stay in control.database_migration_audit.
  await deps.sql`
    DELETE FROM control.migration_run WHERE finished_at < now() - ${LOG_DAYS} * interval '1 day'`;
  const uploads = await removeExpiredUploads(deps);
  const artifacts = await removeArtifacts(deps);
  await removeLeftovers(deps.folder);
  const repositories = await shrinkRepositories(deps);
  return { deployments, artifacts, logLines, uploads, repositories };
}

/** Retires deployments that no pointer needs and that are not among the newest: they leave the route records. */
async function retireDeployments(deps: Dependencies): Promise<number> {
  const { sql } = deps;
  const retired = await sql.begin(async (tx) => {
    const rows = await tx<{ id: string; project_id: string }[]>`
      WITH ranked AS (
        SELECT d.id, d.project_id, d.status, d.updated_at, p.production_deployment_id, p.production_history, p.split,
          coalesce(CASE WHEN p.settings->>'keepDeployments' ~ '^[0-9]{1,4}$'
            THEN (p.settings->>'keepDeployments')::int END, ${KEEP_DEFAULT}) AS keep,
          row_number() OVER (PARTITION BY d.project_id ORDER BY d.created_at DESC, d.id DESC) AS rank
        FROM control.deployment d JOIN control.project p ON p.id = d.project_id
        WHERE d.artifact IS NOT NULL AND d.removed_at IS NULL AND p.deleted_at IS NULL)
      UPDATE control.deployment SET removed_at = now(), updated_at = now()
      WHERE id IN (
        SELECT r.id FROM ranked r
        WHERE r.rank > r.keep AND r.status IN ('success', 'failure', 'timeout', 'canceled')
          AND r.id IS DISTINCT FROM r.production_deployment_id
          AND r.id <> ALL(r.production_history[greatest(1, array_length(r.production_history, 1) - r.keep + 1):])
          AND r.id IS DISTINCT FROM r.split->>'deploymentId'
          AND NOT EXISTS (SELECT FROM control.branch b WHERE b.project_id = r.project_id AND b.deployment_id = r.id))
      RETURNING id, project_id`;
    for (const projectId of new Set(rows.map((row) => row.project_id))) await touchRoute(tx, projectId);
    return rows;
  });
  for (const projectId of new Set(retired.map((row) => row.project_id))) {
    await writeRoute(deps, projectId);
    // Artifacts are deleted only once no engine routes to them; if no engine is available, in the next round.
    await untilRouted(deps, projectId, 1000);
  }
  return retired.length;
}

/** Deletes artifacts that neither a deployment nor a route record refers to. */
async function removeArtifacts(deps: Dependencies): Promise<number> {
  const folder = path.join(deps.folder, 'artifacts');
  const here = await listArtifacts(deps.folder);
  const stored = deps.artifacts.isShared ? await deps.artifacts.list() : here;
  const names = [...new Set([...stored.keys(), ...here.keys()])];
  // Includes records of projects unknown to the database.
  const named = new Set(
    readRoutes(deps.folder).flatMap(({ deployments }) => Object.values(deployments).map(({ artifact }) => artifact)),
  );
  let removed = 0;
  for (let at = 0; at < names.length && !deps.stopping.aborted; at += TOGETHER) {
    const some = names.slice(at, at + TOGETHER).filter((id) => !named.has(id));
    if (some.length === 0) continue;
    const used = await deps.sql<{ artifact: string }[]>`
      SELECT DISTINCT d.artifact FROM control.deployment d JOIN control.project p ON p.id = d.project_id
      WHERE d.artifact = ANY(${some}) AND d.removed_at IS NULL AND p.deleted_at IS NULL`;
    const kept = new Set(used.map(({ artifact }) => artifact));
    for (const id of some) {
      const since = Math.max(stored.get(id) ?? 0, here.get(id) ?? 0);
      if (kept.has(id) || Date.now() - since <= YOUNG_MS) continue;
      await deps.artifacts.remove(id);
      await rm(path.join(folder, id), { recursive: true, force: true });
      removed++;
    }
  }
  return removed;
}

/** Deletes unfinished files of killed processes. */
async function removeLeftovers(dataFolder: string): Promise<void> {
  for (const folder of ['artifacts', 'routes'])
    for (const name of await readdir(path.join(dataFolder, folder)).catch(() => []))
      if (name.startsWith('.') && (await isOlder(path.join(dataFolder, folder, name), LEFTOVER_MS)))
        await rm(path.join(dataFolder, folder, name), { recursive: true, force: true });
}

async function isOlder(file: string, ms: number): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > ms;
}

// Keeps the handlers' route records in sync with the database: after each change, on NOTIFY, by polling, and for all
// projects at start. Handlers need nothing but the route records. Records of projects unknown to the database are not
// touched.
import { createWake } from '#core/process/wake.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { adoptRoute } from './adopt-route.ts';
import { readProjectRows } from './project-rows.ts';
import { toRouteRecord, type ProjectRows } from './route-projection.ts';

type RouteDeps = Pick<
  Dependencies,
  'sql' | 'keys' | 'routes' | 'artifacts' | 'mutex' | 'log' | 'privatePort' | 'addresses'
>;

const POLL_MS = 2000;
const PROJECTS_TOGETHER = 200;
const ROUTED_MS_MAX = 10_000;
const [lookMsLeast, lookMsMost] = [5, 100];

/** Marks a project's record as outdated, in the transaction that changes its source rows. */
export async function touchRoute(tx: Sql | Transaction, projectId: string): Promise<void> {
  await tx`UPDATE control.project SET route_version = route_version + 1, updated_at = now() WHERE id = ${projectId}`;
  await tx`SELECT pg_notify('control_route', ${projectId})`;
}

/** Writes a project's record if it differs from the database. */
export function writeRoute(deps: RouteDeps, projectId: string): Promise<void> {
  // Writes are serialized, so that a record that was read before a change is not written after it.
  return deps.mutex.exclusive(`route:${projectId}`, async () => {
    const [rows] = await readProjectRows(deps.sql, [projectId]);
    if (rows !== undefined) await writeOne(deps, rows);
  });
}

/**
 * Waits until all engines have read a project's record, or its removal, so that it is in effect.
 *
 * @returns false after `waitMs`, or if no engine is available.
 */
export async function untilRouted(
  { privatePort, routes, sql }: Pick<RouteDeps, 'privatePort' | 'routes' | 'sql'>,
  projectId: string,
  waitMs: number = ROUTED_MS_MAX,
): Promise<boolean> {
  const [project] = await sql<{ name: string }[]>`SELECT name FROM control.project WHERE id = ${projectId}`;
  if (project === undefined) return false;
  let pauseMs = lookMsLeast;
  for (const until = performance.now() + waitMs; ;) {
    // A later change includes this one.
    const record = await routes.hashOf(project.name);
    if (await isRouted(privatePort, project.name, record)) return true;
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(lookMsMost, pauseMs * 2);
  }
}

async function isRouted(privatePort: Dependencies['privatePort'], project: string, record: string): Promise<boolean> {
  try {
    const { body } = await privatePort.ask<{ routed?: unknown }>('/_platform/check', { project, record });
    return body.routed === true;
  } catch {
    return false;
  }
}

/** Checks all projects once, then follows changes until the process ends. */
export async function followRoutes(deps: Dependencies): Promise<void> {
  const waiting = new Set<string>();
  const wake = createWake(deps.stopping);
  const write = async (projectId: string): Promise<void> => {
    try {
      await writeRoute(deps, projectId);
    } catch (error) {
      deps.log.error({ err: error, project: projectId }, 'Route record could not be written');
    }
  };
  await deps.onNotify('control_route', (projectId) => {
    waiting.add(projectId);
    wake.now();
  });
  let isFirst = true;
  while (!deps.stopping.aborted) {
    try {
      if (isFirst) await writeAllRoutes(deps);
      isFirst = false;
      const behind = await deps.sql<{ id: string }[]>`
        SELECT id FROM control.project WHERE route_version <> routed_version ORDER BY updated_at LIMIT 1000`;
      for (const { id } of behind) waiting.add(id);
    } catch (error) {
      if (!deps.stopping.aborted) deps.log.error({ err: error }, 'Routes not read');
    }
    const until = performance.now() + POLL_MS;
    while (!deps.stopping.aborted) {
      for (const id of waiting) {
        waiting.delete(id);
        if (!deps.stopping.aborted) await write(id);
      }
      const leftMs = until - performance.now();
      if (leftMs <= 0) break;
      await wake.wait(leftMs);
    }
  }
}

/**
 * Compares every project's record with the database and writes outdated records. @returns the number of written records
 */
export async function writeAllRoutes(deps: RouteDeps): Promise<number> {
  let written = 0;
  for (let after = ''; ;) {
    const ids = await deps.sql<{ id: string }[]>`
      SELECT id FROM control.project WHERE id > ${after} AND (deleted_at IS NULL OR route_version <> routed_version)
      ORDER BY id LIMIT ${PROJECTS_TOGETHER}`;
    const last = ids.at(-1);
    if (last === undefined) return written;
    after = last.id;
    const all = await readProjectRows(
      deps.sql,
      ids.map(({ id }) => id),
    );
    const settled = all.filter(
      ({ project: { route_version: version, routed_version: routed, deleted_at: deletedAt } }) =>
        version === routed && deletedAt === null,
    );
    const outdated = await deps.routes.outdated(
      settled.map((rows) => toRouteRecord(deps.keys, rows, deps.addresses.api)),
    );
    const current = new Set(settled.filter(({ project }) => !outdated.has(project.name)));
    for (const rows of all) {
      try {
        if (current.has(rows)) continue;
        // The rows are read again while the key of the project is locked.
        await writeRoute(deps, rows.project.id);
        written++;
      } catch (error) {
        deps.log.error({ err: error, project: rows.project.id }, 'Route record could not be written');
      }
    }
  }
}

async function writeOne(deps: RouteDeps, given: ProjectRows): Promise<void> {
  let rows = given;
  const { id, name, route_version: version, routed_version: routed, deleted_at: deletedAt } = rows.project;
  if (deletedAt !== null) {
    const [heir] = await deps.sql`SELECT FROM control.project WHERE name = ${name} AND deleted_at IS NULL`;
    if (heir === undefined) await deps.routes.remove(name);
  } else {
    // The record may be from a time when the control plane did not manage the project.
    if (routed === 0 && (await adoptRoute(deps, rows.project)))
      [rows] = (await readProjectRows(deps.sql, [id])) as [ProjectRows];
    await deps.routes.replace(toRouteRecord(deps.keys, rows, deps.addresses.api));
  }
  await deps.sql`UPDATE control.project SET routed_version = ${version} WHERE id = ${id} AND routed_version <> ${version}`;
}

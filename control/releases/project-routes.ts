// Keeps the handlers' route records in sync with the database: after each change, on NOTIFY, by polling, and for all
// projects at start. Handlers need only these files. Records of projects unknown to the database are not touched.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { recordHash, recordText, removeRoute, replaceRoute } from '#artifacts/route-records.ts';
import { createWake } from '#core/process/wake.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { adoptRoute } from './adopt-route.ts';
import { readProjectRows } from './project-rows.ts';
import { toRouteRecord, type ProjectRows } from './route-projection.ts';

type RouteDeps = Pick<Dependencies, 'sql' | 'keys' | 'folder' | 'mutex' | 'log' | 'privatePort' | 'addresses'>;

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
  // Serialized: a record read before a change must not be written after it.
  return deps.mutex.exclusive(`route:${projectId}`, async () => {
    const [rows] = await readProjectRows(deps.sql, [projectId]);
    if (rows !== undefined) await writeOne(deps, rows, fileNames(deps.folder));
  });
}

/**
 * Waits until all engines have read a project's record, or its removal, so that it is in effect.
 *
 * @returns false after `waitMs`, or if no engine is available.
 */
export async function untilRouted(
  { privatePort, folder, sql }: Pick<RouteDeps, 'privatePort' | 'folder' | 'sql'>,
  projectId: string,
  waitMs: number = ROUTED_MS_MAX,
): Promise<boolean> {
  const [project] = await sql<{ name: string }[]>`SELECT name FROM control.project WHERE id = ${projectId}`;
  if (project === undefined) return false;
  let pauseMs = lookMsLeast;
  for (const until = performance.now() + waitMs; ;) {
    // A later change includes this one.
    const record = existsSync(fileOf(folder, project.name)) ? recordHash(folder, project.name) : '';
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
      deps.log.error({ err: error, project: projectId }, 'Route record not written');
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

/** Compares every project's record with the database and writes outdated ones. @returns how many were written */
export async function writeAllRoutes(deps: RouteDeps): Promise<number> {
  const names = fileNames(deps.folder);
  let written = 0;
  for (let after = ''; ;) {
    const ids = await deps.sql<{ id: string }[]>`
      SELECT id FROM control.project WHERE id > ${after} AND (deleted_at IS NULL OR route_version <> routed_version)
      ORDER BY id LIMIT ${PROJECTS_TOGETHER}`;
    const last = ids.at(-1);
    if (last === undefined) return written;
    after = last.id;
    for (const rows of await readProjectRows(
      deps.sql,
      ids.map(({ id }) => id),
    )) {
      try {
        if (isAsItShouldBe(deps, rows, names)) continue;
        // Read again under its key.
        await writeRoute(deps, rows.project.id);
        written++;
      } catch (error) {
        deps.log.error({ err: error, project: rows.project.id }, 'Route record not written');
      }
    }
  }
}

function isAsItShouldBe(deps: RouteDeps, rows: ProjectRows, names: ReadonlySet<string>): boolean {
  const { name, deleted_at: deletedAt, route_version: version, routed_version: routed } = rows.project;
  if (version !== routed || deletedAt !== null || !names.has(name)) return false;
  return (
    readFileSync(fileOf(deps.folder, name), 'utf8') === recordText(toRouteRecord(deps.keys, rows, deps.addresses.api))
  );
}

async function writeOne(deps: RouteDeps, given: ProjectRows, names: ReadonlySet<string>): Promise<void> {
  let rows = given;
  const { id, name, route_version: version, routed_version: routed, deleted_at: deletedAt } = rows.project;
  if (deletedAt !== null) {
    const [heir] = await deps.sql`SELECT FROM control.project WHERE name = ${name} AND deleted_at IS NULL`;
    if (heir === undefined) removeRoute(deps.folder, name);
  } else {
    // A record from before the control plane managed the project.
    if (routed === 0 && names.has(name) && (await adoptRoute(deps, rows.project)))
      [rows] = (await readProjectRows(deps.sql, [id])) as [ProjectRows];
    replaceRoute(deps.folder, toRouteRecord(deps.keys, rows, deps.addresses.api));
  }
  await deps.sql`UPDATE control.project SET routed_version = ${version} WHERE id = ${id} AND routed_version <> ${version}`;
}

function fileOf(folder: string, name: string): string {
  return path.join(folder, 'routes', `${name}.json`);
}

/** Names of projects that have a record. */
function fileNames(folder: string): ReadonlySet<string> {
  const routes = path.join(folder, 'routes');
  if (!existsSync(routes)) return new Set();
  return new Set(
    readdirSync(routes).flatMap((name) => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : [])),
  );
}

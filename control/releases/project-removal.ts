// Removes the data of deleted projects: databases, users, state, files, messages, timers and runs. Data is kept for a
// while after the project was deleted, unless someone removes it immediately. An interrupted removal is finished later:
// the project's row records that it is due.
import { isProjectName } from '#core/names.ts';
import { runRounds } from '#core/process/rounds.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { findStoredProject, lockProjectName } from '../records/stored-projects.ts';
import type { StorageKind } from '../records/storage.ts';
import { touchStorage } from '../storage/follow.ts';
import { removeProjectData } from './engines.ts';
import { systemAudit, type Audit } from './audit-entries.ts';
import { withProject } from './project-lock.ts';
import { untilRouted, writeRoute } from './project-routes.ts';

const POLL_MS = 60_000;
const TOGETHER = 100;
/**
 * Kinds of stored data that a removal deletes. Sandboxes and repositories of deleted projects are removed elsewhere.
 */
const REMOVED_KINDS: readonly StorageKind[] = ['files', 'databases', 'state', 'queues', 'workflows', 'artifacts'];

/**
 * Starts the removal of a deleted project's data. If the removal was started before, nothing changes.
 *
 * @param name the name of a project of this organization.
 * @throws {ApiError} `not_found`; `conflict` if the project is not deleted.
 */
export async function requestDataRemoval(
  deps: Pick<Dependencies, 'sql'>,
  { organizationId, name }: { readonly organizationId: string; readonly name: string },
  audit: Audit,
): Promise<{ readonly id: string; readonly state: 'removing' | 'removed' }> {
  if (!isProjectName(name)) throw new ApiError('not_found');
  return deps.sql.begin(async (tx) => {
    await lockProjectName(tx, name);
    const found = await findStoredProject(tx, organizationId, name);
    if (found === null) throw new ApiError('not_found');
    if (!found.isDeleted) throw new ApiError('conflict', { reason: `${name} is not deleted` });
    const { id, state } = found;
    if (state !== 'kept') return { id, state };
    await tx`UPDATE control.project SET data_due_at = now() WHERE id = ${id}`;
    await audit(tx, {
      organizationId,
      projectId: id,
      action: 'project.data.delete',
      subjectKind: 'project',
      subjectId: id,
      details: { name },
    });
    await tx`SELECT pg_notify('control_project_data', ${id})`;
    return { id, state: 'removing' as const };
  });
}

/** Removes data that is due until the process ends. */
export async function followDataRemovals(deps: Dependencies): Promise<void> {
  const { sql, stopping, log } = deps;
  const listen = (wake: () => void): Promise<() => Promise<void>> => deps.onNotify('control_project_data', wake);
  return runRounds(deps, { failure: 'Deleted projects could not be read', pollMs: POLL_MS, listen }, async () => {
    const due = await sql<{ id: string; name: string }[]>`
      SELECT id, name FROM control.project WHERE data_due_at <= now() AND data_removal IS NULL
      ORDER BY data_due_at LIMIT ${TOGETHER}`;
    for (const { id, name } of due) {
      if (stopping.aborted) return;
      await withProject(deps, id, 0, () => removeData(deps, id)).catch((error: unknown) => {
        if (!stopping.aborted) log.warn({ err: error, project: name }, 'Data of a deleted project not removed yet');
      });
    }
  });
}

async function removeData(deps: Dependencies, projectId: string): Promise<void> {
  const { sql } = deps;
  const row = await sql.begin(async (tx) => {
    const [named] = await tx<{ name: string }[]>`SELECT name FROM control.project WHERE id = ${projectId}`;
    // A project with this name that was created since has taken over the data; later projects are refused.
    await lockProjectName(tx, named!.name);
    const [due] = await tx<{ name: string; organization_id: string }[]>`
      SELECT name, organization_id FROM control.project
      WHERE id = ${projectId} AND data_due_at <= now() AND data_removal IS NULL`;
    return due;
  });
  if (row === undefined) return;
  const { name, organization_id: organizationId } = row;
  await writeRoute(deps, projectId);
  if (!(await untilRouted(deps, projectId))) throw new Error('Not all engines know yet that the project was deleted');
  const removed = await removeProjectData(deps, name, await knownOf(deps, name));
  await sql.begin(async (tx) => {
    await tx`
      UPDATE control.project SET data_removal = ${tx.json(removed)}, updated_at = now() WHERE id = ${projectId}`;
    // Retention deletes the project's artifacts later.
    await tx`
      UPDATE control.deployment SET removed_at = now(), updated_at = now()
      WHERE project_id = ${projectId} AND removed_at IS NULL`;
    // The deleted kinds count as empty until the next periodic count.
    await tx`DELETE FROM control.storage WHERE project_id = ${projectId} AND kind = ANY(${[...REMOVED_KINDS]})`;
    await systemAudit(tx, {
      organizationId,
      projectId,
      action: 'project.data.remove',
      subjectKind: 'project',
      subjectId: projectId,
      details: { name, ...removed },
    });
    await touchStorage(tx);
  });
}

/** The branches of all projects that had the name, and the databases that they declared. */
async function knownOf({ sql }: Dependencies, name: string): Promise<{ branches: string[]; databases: string[] }> {
  const rows = await sql<{ name: string; databases: string[] | null }[]>`
    SELECT b.name, ARRAY(SELECT jsonb_object_keys(b.resources->'db')) AS databases
    FROM control.branch b JOIN control.project p ON p.id = b.project_id
    WHERE p.name = ${name} AND (b.removed_at IS NULL OR b.removal IS NULL)`;
  return {
    branches: [...new Set(rows.map((row) => row.name))],
    databases: [...new Set(rows.flatMap(({ databases }) => databases ?? []))],
  };
}

// A repository of the Git host was renamed, moved, archived or deleted: its record follows, by the host's id of it.
// Deployments stay in every case.
import type { Dependencies } from '../process/dependencies.ts';
import type { RepositoryChange } from './delivery.ts';
import { disconnectReasons } from './installations.ts';

/** @returns what became of it, for the row of the delivery */
export async function handleRepository({ sql, git }: Dependencies, change: RepositoryChange): Promise<string> {
  const { action, installationId, repositoryId: hostId, fullName, defaultBranch } = change;
  if (action === 'deleted' || action === 'archived') {
    const reason = disconnectReasons[action];
    const rows = await sql`
      UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${reason}
       WHERE source = 'git-host' AND host_id = ${hostId} AND disconnected_at IS NULL RETURNING id`;
    return rows.length === 0 ? 'not connected' : 'disconnected';
  }
  // The branch of production stays what the project says: another one would change what is served with the next push.
  const url = `${git.gitHost?.url ?? ''}/${fullName}`;
  const rows = await sql`
    UPDATE control.repository SET full_name = ${fullName}, url = ${url}, default_branch = ${defaultBranch}
     WHERE source = 'git-host' AND host_id = ${hostId} RETURNING id`;
  // Its new owner has proved nothing here, and those who had connected it may have no right to it any more.
  if (action === 'transferred')
    await sql`
      UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${disconnectReasons.transferred}
       WHERE source = 'git-host' AND host_id = ${hostId} AND installation_id IS DISTINCT FROM ${installationId}`;
  if (action === 'unarchived')
    await sql`
      UPDATE control.repository SET disconnected_at = NULL, disconnect_reason = NULL
       WHERE source = 'git-host' AND host_id = ${hostId} AND disconnect_reason = ${disconnectReasons.archived}`;
  return rows.length === 0 ? 'not connected' : 'updated';
}

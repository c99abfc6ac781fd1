// Updates the record of a repository, by the host's id, when it was renamed, transferred, archived or deleted.
// Deployments are always kept.
import type { Dependencies } from '../process/dependencies.ts';
import type { RepositoryChange } from '#git/host/delivery.ts';
import { disconnectReasons } from './installations.ts';

/** @returns the result, stored with the delivery */
export async function handleRepository({ sql, git }: Dependencies, change: RepositoryChange): Promise<string> {
  const { action, installationId, repositoryId: hostId, fullName, defaultBranch } = change;
  if (action === 'deleted' || action === 'archived') {
    const reason = disconnectReasons[action];
    const rows = await sql`
      UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${reason}
       WHERE source = 'git-host' AND git_host_id IS NULL AND host_id = ${hostId} AND disconnected_at IS NULL RETURNING id`;
    return rows.length === 0 ? 'not connected' : 'disconnected';
  }
  // The project's production branch does not change, because that would change what the next push deploys.
  const url = `${git.gitHost?.url ?? ''}/${fullName}`;
  const rows = await sql`
    UPDATE control.repository SET full_name = ${fullName}, url = ${url}, default_branch = ${defaultBranch}
     WHERE source = 'git-host' AND git_host_id IS NULL AND host_id = ${hostId} RETURNING id`;
  // The new owner has not proved access, and the former owner may have lost access.
  if (action === 'transferred')
    await sql`
      UPDATE control.repository SET disconnected_at = now(), disconnect_reason = ${disconnectReasons.transferred}
       WHERE source = 'git-host' AND git_host_id IS NULL AND host_id = ${hostId} AND installation_id IS DISTINCT FROM ${installationId}`;
  if (action === 'unarchived')
    await sql`
      UPDATE control.repository SET disconnected_at = NULL, disconnect_reason = NULL
       WHERE source = 'git-host' AND git_host_id IS NULL AND host_id = ${hostId} AND disconnect_reason = ${disconnectReasons.archived}`;
  return rows.length === 0 ? 'not connected' : 'updated';
}

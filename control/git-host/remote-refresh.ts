// Plain remotes report pushes to a URL of their own, in any format. The platform then reads the branches of the remote,
// so it does not rely on the body. A refresh is stored and processed like a delivery.
import { randomUUID } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import { openCredentials, remoteSource } from '#git/clone-source.ts';
import { readRemoteHeads } from '#git/remote-heads.ts';
import { parseRemoteUrl } from '#git/host/remote-url.ts';
import { createDeployment } from '../releases/create-deployment.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { projectsOfRepository } from './connected-projects.ts';
import { removeUnlessProduction } from './pushes.ts';
import type { StoredDelivery } from './delivery.ts';

/** A reported push to a plain remote. */
export interface RemotePush {
  readonly event: 'remote';
  /** Id of the platform's record. */
  readonly repositoryId: string;
}

/** Queues a refresh of a remote, unless one is already queued. */
export async function askForRefresh({ sql }: Pick<Dependencies, 'sql'>, repositoryId: string): Promise<void> {
  const subject = `remote:${repositoryId}`;
  const details: RemotePush = { event: 'remote', repositoryId };
  await sql`
    INSERT INTO control.webhook_received (delivery_id, event, subject, details, due_at)
    SELECT ${`remote-${randomUUID()}`}, 'remote', ${subject}, ${sql.json(details as never)}, now()
     WHERE NOT EXISTS (SELECT FROM control.webhook_received
                        WHERE subject = ${subject} AND due_at IS NOT NULL AND attempt = 0)`;
  await sql.notify('control_git', 'delivery');
}

/** @returns the result, stored with the delivery */
export async function refreshRemote(
  deps: Dependencies,
  { repositoryId }: RemotePush,
  { receivedAt }: StoredDelivery,
): Promise<string> {
  const { sql, keys, git } = deps;
  const [row] = await sql<{ url: string; credentials: Uint8Array | null; heads: Record<string, string> | null }[]>`
    SELECT url, credentials, heads FROM control.repository
     WHERE id = ${repositoryId} AND source = 'remote' AND disconnected_at IS NULL`;
  if (row === undefined) return 'not connected';
  let heads: Readonly<Record<string, string>>;
  try {
    const credentials = openCredentials(keys, repositoryId, row.credentials);
    const source = await remoteSource(parseRemoteUrl(row.url), credentials, git.privateHosts);
    ({ heads } = await readRemoteHeads(source));
  } catch (error) {
    if (isFailure(error, 'remote_refused')) return `refused: ${error.message}`;
    throw isFailure(error, 'remote_unreadable') ? new Error(error.message) : error;
  }
  const before = row.heads ?? {};
  const moved = Object.entries(heads).filter(([branch, commit]) => before[branch] !== commit);
  const gone = Object.keys(before).filter((branch) => !Object.hasOwn(heads, branch));
  for (const project of await projectsOfRepository(sql, repositoryId)) {
    for (const [branch, commit] of moved) {
      const [made] = await sql`
        SELECT FROM control.deployment WHERE project_id = ${project.id} AND branch = ${branch}
           AND commit_sha = ${commit} AND created_at >= ${receivedAt}`;
      if (made === undefined)
        await createDeployment(deps, { projectId: project.id, branch, commit, source: 'push', createdBy: null });
    }
    for (const branch of gone) await removeUnlessProduction(deps, project, branch, 'branch_deleted');
  }
  await sql`UPDATE control.repository SET heads = ${sql.json(heads)} WHERE id = ${repositoryId}`;
  return `moved: ${moved.length}, gone: ${gone.length}`;
}

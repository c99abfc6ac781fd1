// Connects repositories to an organization. For the Git host, people prove with their own token that they may use the
// application's installation and push to the repository. For plain remotes, the address must be allowed and readable by
// git.
import { seal } from '#core/encryption.ts';
import { isFailure } from '#core/failure.ts';
import { installationsOf, readInstallation, repositoriesOf, type HostRepository } from '#git/host/repositories.ts';
import type { GitHost } from '#git/host/connection.ts';
import { credentialsContext, remoteSource, type RemoteCredentials } from '#git/clone-source.ts';
import { readRemoteHeads, type RemoteHeads } from '#git/remote-heads.ts';
import { isBranchName, parseRemoteUrl } from '#git/host/remote-url.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { newId } from '../records/ids.ts';
import { newSecret } from '../access/secrets.ts';
import type { Noted } from './hosts.ts';

/** @throws {ApiError} `not_available` */
export function gitHostOf({ git }: Pick<Dependencies, 'git'>): GitHost {
  if (git.gitHost !== null) return git.gitHost;
  throw new ApiError('not_available', {
    reason:
      'No Git-host application is configured: an operator creates one on the page Git hosts, or sets GITHOST_APP_ID and GITHOST_APP_PRIVATE_KEY (docs/git-host-github.md)',
  });
}

/**
 * Connects a repository of the Git host, or reconnects it.
 *
 * @param token the person's token for the Git host's API, as proof. @param note a function that writes the audit log
 * entry, in the same transaction. @returns the id of the repository's record
 * @throws {ApiError} `not_found` if the person cannot see it, `forbidden` if they can only read it.
 */
export async function connectHosted(
  deps: Pick<Dependencies, 'sql' | 'git'>,
  given: { readonly organizationId: string; readonly installationId: string; readonly hostId: string },
  token: string,
  note: Noted,
): Promise<string> {
  const host = gitHostOf(deps);
  const { organizationId, installationId, hostId } = given;
  const { installation, repository } = await asApiErrors(async () => {
    const mine = (await installationsOf(host, token)).some(({ id }) => id === installationId);
    if (!mine) throw new ApiError('not_found');
    const found = await findRepository(host, token, installationId, hostId);
    if (found === null) throw new ApiError('not_found');
    return { repository: found, installation: await readInstallation(host, installationId) };
  });
  if (!repository.mayPush)
    throw new ApiError('forbidden', { permission: 'to push to this repository, on the Git host' });
  if (repository.isArchived) throw new ApiError('unprocessable', { reason: 'The repository is archived' });
  if (installation.isSuspended)
    throw new ApiError('unprocessable', {
      reason: 'The Git-host application is suspended for this account: unsuspend it on the Git host',
    });
  return deps.sql.begin(async (tx) => {
    await tx`
      INSERT INTO control.installation (id, organization_id, account_login, permissions)
      VALUES (${installationId}, ${organizationId}, ${installation.accountLogin}, ${tx.json(installation.permissions)})
      ON CONFLICT (id) DO UPDATE
         SET account_login = excluded.account_login, permissions = excluded.permissions, suspended_at = NULL,
             organization_id = coalesce(installation.organization_id, excluded.organization_id)`;
    const url = `${host.url}/${repository.fullName}`;
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`repository:${organizationId}:${hostId}`}, 0))`;
    const [known] = await tx<{ id: string }[]>`
      UPDATE control.repository
         SET installation_id = ${installationId}, full_name = ${repository.fullName}, url = ${url},
             default_branch = ${repository.defaultBranch}, disconnected_at = NULL, disconnect_reason = NULL
       WHERE organization_id = ${organizationId} AND source = 'git-host' AND git_host_id IS NULL
         AND host_id = ${hostId} RETURNING id`;
    const id = known?.id ?? newId('repository');
    await note(tx, id, repository.fullName);
    if (known !== undefined) return id;
    await tx`
      INSERT INTO control.repository (id, organization_id, source, host_id, installation_id, full_name, url,
        default_branch)
      VALUES (${id}, ${organizationId}, 'git-host', ${hostId}, ${installationId}, ${repository.fullName}, ${url},
        ${repository.defaultBranch})`;
    return id;
  });
}

async function findRepository(
  host: GitHost,
  token: string,
  installationId: string,
  hostId: string,
): Promise<HostRepository | null> {
  for (let page = 1; ; page++) {
    const { repositories, hasMore } = await repositoriesOf(host, token, installationId, page);
    const found = repositories.find(({ id }) => id === hostId);
    if (found !== undefined || !hasMore) return found ?? null;
  }
}

/** Maps errors of the Git host to API errors: the person must resolve refusals of the host. */
export async function asApiErrors<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    if (!isFailure(error, 'git_host')) throw error;
    if (error.status === 401)
      throw new ApiError('unprocessable', {
        reason: 'Your sign-in with the Git host has expired: sign in again',
      });
    if (error.reason === 'refused') throw new ApiError('unprocessable', { reason: error.message });
    throw new ApiError('unavailable', { reason: error.message });
  }
}

/** A plain remote to connect. */
interface NewRemote {
  readonly organizationId: string;
  readonly url: string;
  readonly credentials: RemoteCredentials;
  /** The default branch; null means the branch of HEAD. */
  readonly defaultBranch: string | null;
  /** The polling interval; null means that only the webhook reports pushes. */
  readonly pollSeconds: number | null;
}

const FIRST_BRANCH = 'main';

/**
 * Connects a plain remote.
 *
 * @returns the id of the repository's record, and the token of its push URL, which is not stored. @throws {ApiError}
 * `unprocessable` with the reason if the remote cannot be read or is not allowed.
 */
export async function connectRemote(
  { sql, keys, git }: Pick<Dependencies, 'sql' | 'keys' | 'git'>,
  { organizationId, url, credentials: given, defaultBranch, pollSeconds }: NewRemote,
  note: Noted,
): Promise<{ readonly id: string; readonly webhookToken: string }> {
  if (defaultBranch !== null && !isBranchName(defaultBranch))
    throw new ApiError('bad_request', { reason: `"${defaultBranch}" is not a valid branch name` });
  let found: RemoteHeads;
  let credentials: RemoteCredentials;
  let plainUrl: string;
  try {
    const remote = parseRemoteUrl(url);
    plainUrl = remote.url;
    credentials = { ...remote.credentials, ...given };
    found = await readRemoteHeads(await remoteSource(remote, credentials, git.privateHosts));
  } catch (error) {
    if (!isFailure(error, 'remote_refused', 'remote_unreadable')) throw error;
    throw new ApiError('unprocessable', { reason: error.message });
  }
  if (found.knownHosts !== null) credentials = { ...credentials, knownHosts: found.knownHosts };
  const id = newId('repository');
  const { secret, hash } = newSecret('prh');
  const sealed =
    Object.keys(credentials).length === 0 ? null : seal(keys, JSON.stringify(credentials), credentialsContext(id));
  await sql.begin(async (tx) => {
    await tx`
      INSERT INTO control.repository (id, organization_id, source, full_name, url, default_branch, credentials,
        webhook_hash, heads, poll_seconds, poll_due_at)
      VALUES (${id}, ${organizationId}, 'remote', ${plainUrl}, ${plainUrl},
        ${defaultBranch ?? found.defaultBranch ?? FIRST_BRANCH}, ${sealed}, ${hash}, ${tx.json(found.heads)},
        ${pollSeconds}, now() + make_interval(secs => ${pollSeconds}))`;
    await note(tx, id, plainUrl);
  });
  return { id, webhookToken: secret };
}

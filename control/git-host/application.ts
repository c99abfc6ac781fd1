// The application of the Git host that an operator creates in the dashboard: whether it can be created, and its record.
// The pages of the application are in application-pages.ts.
import { urlProblem } from '#core/outbound/post.ts';
import { PUBLIC_GITHUB, type Application } from '#git/host/application.ts';
import { hostnameOf, isPrivateHost } from '#git/host/token-hosts.ts';
import type { Transaction } from '#postgres/sql.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';

/** Its page, at `AUTH_URL`. */
export const APPLICATION_PATH = '/api/auth/git-host-application';

type Deps = Pick<Dependencies, 'sql' | 'settings' | 'git' | 'addresses'>;

/** Writes the audit log entry of a change in its transaction. */
type Noted = (tx: Transaction, application: Application) => Promise<void>;

/** Why no application can be created here, or null. */
export function creationProblem({ settings }: Pick<Deps, 'settings'>): string | null {
  const { applicationVariable } = settings;
  const created = settings.application();
  if (applicationVariable !== null)
    return `${applicationVariable} is set in the environment of the platform, which overrides an application that is created here. To create one, remove the variables GITHOST_APP_ID, GITHOST_APP_PRIVATE_KEY, GITHOST_CLIENT_ID and GITHOST_CLIENT_SECRET.`;
  if (created !== null)
    return `The platform has the application ${created.slug} on ${hostnameOf(created.url)}. Remove it first to create another one.`;
  return null;
}

/**
 * The URL of a host with GitHub's API, without a slash at its end.
 *
 * @throws {ApiError} `bad_request` for a URL that is invalid or not allowed, `unprocessable` if the host's webhooks
 *   cannot reach the platform.
 */
export function githubUrl({ git, addresses }: Pick<Deps, 'git' | 'addresses'>, text: string): string {
  const parsed = URL.parse(text === '' ? PUBLIC_GITHUB : text);
  if (parsed === null || parsed.search !== '' || parsed.hash !== '')
    throw new ApiError('bad_request', { reason: 'The URL must look like https://github.example.com' });
  const url = parsed.href.replace(/\/+$/, '');
  const problem = urlProblem(url, isPrivateHost(url, git.privateHosts));
  if (problem !== null)
    throw new ApiError('bad_request', {
      reason: `The URL ${problem}, unless GIT_REMOTE_PRIVATE_HOSTS names its host`,
    });
  const api = new URL(addresses.api).hostname;
  if (url === PUBLIC_GITHUB && /^(?:localhost|.*\.localhost|127\..*|\[::1\])$/.test(api))
    throw new ApiError('unprocessable', {
      reason: `GitHub cannot send webhooks to ${addresses.api}: set PUBLIC_API_URL to a public address first`,
    });
  return url;
}

/** Stores a created application. @throws {ApiError} `conflict` */
export async function storeApplication(
  { sql, settings }: Deps,
  application: Application,
  accountId: string,
  note: Noted,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('git-application', 0))`;
    await settings.reload();
    const problem = creationProblem({ settings });
    if (problem !== null) throw new ApiError('conflict', { reason: problem });
    // Ids of repositories and installations are unique only within one host.
    const [other] = await tx<{ url: string }[]>`
      SELECT url FROM control.repository
       WHERE source = 'git-host' AND git_host_id IS NULL AND NOT starts_with(url, ${`${application.url}/`}) LIMIT 1`;
    if (other !== undefined)
      throw new ApiError('conflict', {
        reason: `Repositories of ${hostnameOf(other.url)} are connected by an earlier application: disconnect them first`,
      });
    await settings.writeApplication(tx, application, accountId);
    await note(tx, application);
  });
  await settings.reload();
}

/**
 * Removes the application's record, with its installations and connected repositories; deployments are kept. The
 * application still exists on the host.
 *
 * @param disconnect whether its repositories may be disconnected.
 * @throws {ApiError} `not_found`; `conflict` if there are repositories, and they must not be disconnected.
 */
export async function removeApplication(
  { sql, settings }: Deps,
  { accountId, disconnect }: { readonly accountId: string; readonly disconnect: boolean },
  note: Noted,
): Promise<void> {
  await settings.reload();
  const application = settings.application();
  if (application === null) throw new ApiError('not_found');
  await sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('git-application', 0))`;
    const [row] = await tx<{ count: number }[]>`
      SELECT count(*)::int AS count FROM control.repository WHERE source = 'git-host' AND git_host_id IS NULL`;
    if (row!.count > 0 && !disconnect)
      throw new ApiError('conflict', {
        reason: `${row!.count} repositories are connected by ${application.slug}: pass disconnect=true to disconnect them. Deployments stay`,
      });
    await tx`DELETE FROM control.repository WHERE source = 'git-host' AND git_host_id IS NULL`;
    await tx`DELETE FROM control.installation WHERE git_host_id IS NULL`;
    await settings.writeApplication(tx, null, accountId);
    await note(tx, application);
  });
  await settings.reload();
}

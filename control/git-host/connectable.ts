// Lists the repositories of the Git host that a person can connect, page by page, and the accounts of the Git host with
// which the application has a problem. The route of the API calls this function.
import { isFailure } from '#core/failure.ts';
import {
  installationsOf,
  readApp,
  repositoriesOf,
  type HostInstallation,
  type HostRepository,
} from '#git/host/repositories.ts';
import type { GitHost } from '#git/host/connection.ts';
import { decodeCursor, encodeCursor } from '../http/page.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { asApiErrors, gitHostOf } from './connect.ts';
import { includes } from './missing-permissions.ts';

/** A repository that a person can see, with the installation that reaches it. */
interface Connectable extends HostRepository {
  readonly installationId: string;
}

interface ConnectablePage {
  readonly repositories: readonly Connectable[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
  /** Accounts whose repositories cannot be deployed, and why. */
  readonly problems: readonly { readonly account: string; readonly reason: string }[];
  /** Page of the Git host that gives the application access to repositories; null if the Git host did not name it. */
  readonly installUrl: string | null;
}

/** Once a page has this many repositories, no further list is requested from the Git host. */
const FOUND_MIN = 30;
/** Maximum number of lists, of 100 repositories each, that are requested from the Git host for one page. */
const LISTS_MAX = 10;

/**
 * A page of at most 129 repositories.
 *
 * @param token the person's token for the Git host's API.
 * @param search part of `owner/name`; case does not matter. @param cursor the cursor that the previous page returned.
 * @throws {ApiError} `not_available` without a Git host; `unprocessable` if it refuses the request; `unavailable` if it
 * does not respond.
 */
export async function listConnectable(
  deps: Pick<Dependencies, 'git'>,
  token: string,
  { search, cursor }: { readonly search: string; readonly cursor: string | null },
): Promise<ConnectablePage> {
  const host = gitHostOf(deps);
  const start = cursor === null ? null : decodeCursor(cursor);
  const word = search.toLowerCase();
  return asApiErrors(async () => {
    const all = await installationsOf(host, token);
    const readable = all.filter((one) => problemOf(one) === null);
    const found: Connectable[] = [];
    // If the installation of the cursor no longer exists, the list ends.
    let at = start === null ? 0 : indexOf(readable, start.order);
    let page = start === null ? 1 : Math.max(1, Number(start.id) || 1);
    for (let lists = 0; at < readable.length && lists < LISTS_MAX && found.length < FOUND_MIN; lists++) {
      const { id: installationId } = readable[at]!;
      const { repositories, hasMore } = await repositoriesOf(host, token, installationId, page);
      for (const repository of repositories)
        if (repository.fullName.toLowerCase().includes(word)) found.push({ ...repository, installationId });
      [at, page] = hasMore ? [at, page + 1] : [at + 1, 1];
    }
    return {
      repositories: found,
      nextCursor: at < readable.length ? encodeCursor({ order: readable[at]!.id, id: String(page) }) : null,
      problems: all.flatMap((one) => {
        const reason = problemOf(one);
        return reason === null ? [] : [{ account: one.accountLogin, reason }];
      }),
      installUrl: cursor === null ? await readInstallUrl(host) : null,
    };
  });
}

/** Why builds cannot read the repositories of an installation; null if they can. */
function problemOf({ isSuspended, permissions }: HostInstallation): string | null {
  if (isSuspended) return 'The application is suspended for this account: unsuspend it on the Git host';
  const isKnown = Object.keys(permissions).length > 0;
  return isKnown && !includes(permissions, 'contents', 'read')
    ? 'The application lacks the permission "Contents: read": accept its permissions on the Git host'
    : null;
}

function indexOf(installations: readonly HostInstallation[], id: string): number {
  const at = installations.findIndex((one) => one.id === id);
  return at < 0 ? installations.length : at;
}

/**
 * The page of the Git host that gives the application access to repositories. @param slug the slug of the application.
 */
export function installUrlOf(host: GitHost, slug: string): string {
  return `${host.url}/apps/${encodeURIComponent(slug)}/installations/new`;
}

async function readInstallUrl(host: GitHost): Promise<string | null> {
  try {
    return installUrlOf(host, (await readApp(host)).slug);
  } catch (error) {
    if (isFailure(error, 'git_host')) return null;
    throw error;
  }
}

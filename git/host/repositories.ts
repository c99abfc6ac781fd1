// Reads repositories, commits and installations from the Git host, and which of them a person may use. Responses are
// validated field by field, since a proxy or another host may send any content.
import type { GitHost, Permissions } from './connection.ts';
import { answerFields, answerText, type Answer } from './answers.ts';

/** A repository on the Git host. */
export interface HostRepository {
  /** The Git host's own id; does not change when the repository is renamed. */
  readonly id: string;
  /** `owner/name`. */
  readonly fullName: string;
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  readonly isArchived: boolean;
  /** Whether the person may push to the repository; false for requests not made as a person. */
  readonly mayPush: boolean;
}

/** An installation of the application: an account of the Git host that gave it access to repositories. */
export interface HostInstallation {
  readonly id: string;
  readonly accountLogin: string;
  readonly permissions: Permissions;
  readonly isSuspended: boolean;
}

/** The permissions with which the platform reads a repository. */
export const readContents: Permissions = { contents: 'read' };

/** The installations that a person may use. */
export async function installationsOf(host: GitHost, token: string): Promise<HostInstallation[]> {
  return (await allPages(host, token, '/user/installations', 'installations')).map(toInstallation);
}

/**
 * At most 100 repositories of an installation that a person can see, and whether there are more.
 *
 * @param page the number of the page, from 1; of a larger installation, the first 50 pages are read.
 */
export async function repositoriesOf(
  host: GitHost,
  token: string,
  installationId: string,
  page: number,
): Promise<{ readonly repositories: readonly HostRepository[]; readonly hasMore: boolean }> {
  const path = `/user/installations/${encodeURIComponent(installationId)}/repositories`;
  const rows = await onePage(host, token, path, 'repositories', page);
  return { repositories: rows.map(toRepository), hasMore: rows.length === PAGE_SIZE && page < PAGES_MAX };
}

/** An installation as the application sees it. */
export async function readInstallation(host: GitHost, id: string): Promise<HostInstallation> {
  return toInstallation(answerFields(await host.asApp({ path: `/app/installations/${encodeURIComponent(id)}` })));
}

/** The application itself: its slug, the permissions it requests, and the events it subscribes to. */
export async function readApp(
  host: GitHost,
): Promise<{ readonly slug: string; readonly permissions: Permissions; readonly events: readonly string[] }> {
  const app = answerFields(await host.asApp({ path: '/app' }));
  const events = Array.isArray(app['events']) ? app['events'].map(String) : [];
  return { slug: answerText(app, 'slug'), permissions: toPermissions(app['permissions']), events };
}

/** Maximum number of pages that are read of a list. */
const PAGES_MAX = 50;
const PAGE_SIZE = 100;

async function allPages(host: GitHost, token: string, path: string, member: string): Promise<Answer[]> {
  const found: Answer[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const rows = await onePage(host, token, path, member, page);
    found.push(...rows);
    if (rows.length < PAGE_SIZE) break;
  }
  return found;
}

async function onePage(host: GitHost, token: string, path: string, member: string, page: number): Promise<Answer[]> {
  const answer = answerFields(await host.asPerson(token, { path: `${path}?per_page=${PAGE_SIZE}&page=${page}` }));
  return (Array.isArray(answer[member]) ? (answer[member] as unknown[]) : []).map(answerFields);
}

/** A repository in the format of GitHub's API. */
export function toRepository(row: Answer): HostRepository {
  return {
    id: answerText(row, 'id'),
    fullName: answerText(row, 'full_name'),
    defaultBranch: answerText(row, 'default_branch', 'main'),
    isPrivate: row['private'] === true,
    isArchived: row['archived'] === true,
    mayPush: (row['permissions'] as Answer | undefined)?.['push'] === true,
  };
}

function toInstallation(row: Answer): HostInstallation {
  return {
    id: answerText(row, 'id'),
    accountLogin: answerText(answerFields(row['account'] ?? {}), 'login', ''),
    permissions: toPermissions(row['permissions']),
    isSuspended: typeof row['suspended_at'] === 'string',
  };
}

/** Permissions in a response. Unknown permissions are ignored. */
export function toPermissions(value: unknown): Permissions {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => /^[a-z_]{1,64}$/.test(name))
      .filter(([, right]) => right === 'read' || right === 'write' || right === 'admin')
      .slice(0, 100),
  ) as Permissions;
}

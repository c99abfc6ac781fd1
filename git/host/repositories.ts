// Reads repositories, commits and installations from the Git host, and which of them a person may use. Responses are
// validated field by field, since a proxy or another host may answer anything.
import { Failure } from '#core/failure.ts';
import type { GitHost, Permissions } from './connection.ts';

/** A repository on the Git host. */
export interface HostRepository {
  /** The Git host's own id; does not change when the repository is renamed. */
  readonly id: string;
  /** `owner/name`. */
  readonly fullName: string;
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  readonly isArchived: boolean;
  /** Whether the person may push to it; false for requests not made as a person. */
  readonly mayPush: boolean;
}

/** An installation of the application: an account of the Git host that gave it access to repositories. */
export interface HostInstallation {
  readonly id: string;
  readonly accountLogin: string;
  readonly permissions: Permissions;
  readonly isSuspended: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** The permissions with which the platform reads a repository. */
export const readContents: Permissions = { contents: 'read' };

/** The installations that a person may use. */
export async function installationsOf(host: GitHost, token: string): Promise<HostInstallation[]> {
  return (await allPages(host, token, '/user/installations', 'installations')).map(toInstallation);
}

/** The repositories of an installation that a person can see. */
export async function repositoriesOf(host: GitHost, token: string, installationId: string): Promise<HostRepository[]> {
  const path = `/user/installations/${encodeURIComponent(installationId)}/repositories`;
  return (await allPages(host, token, path, 'repositories')).map(toRepository);
}

/** An installation as the application sees it. */
export async function readInstallation(host: GitHost, id: string): Promise<HostInstallation> {
  return toInstallation(fields(await host.asApp({ path: `/app/installations/${encodeURIComponent(id)}` })));
}

/** The application itself: its slug, the permissions it requests, and the events it subscribes to. */
export async function readApp(
  host: GitHost,
): Promise<{ readonly slug: string; readonly permissions: Permissions; readonly events: readonly string[] }> {
  const app = fields(await host.asApp({ path: '/app' }));
  const events = Array.isArray(app['events']) ? app['events'].map(String) : [];
  return { slug: text(app, 'slug'), permissions: toPermissions(app['permissions']), events };
}

/** `owner/name`, encoded for use in a path. */
export function repositoryPath(fullName: string): string {
  return fullName.split('/').map(encodeURIComponent).join('/');
}

const PAGES_MAX = 20;
const PAGE_SIZE = 100;

async function allPages(host: GitHost, token: string, path: string, member: string): Promise<Fields[]> {
  const found: Fields[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = fields(await host.asPerson(token, { path: `${path}?per_page=${PAGE_SIZE}&page=${page}` }));
    const rows = Array.isArray(answer[member]) ? (answer[member] as unknown[]) : [];
    found.push(...rows.map(fields));
    if (rows.length < PAGE_SIZE) break;
  }
  return found;
}

function toRepository(row: Fields): HostRepository {
  return {
    id: text(row, 'id'),
    fullName: text(row, 'full_name'),
    defaultBranch: text(row, 'default_branch', 'main'),
    isPrivate: row['private'] === true,
    isArchived: row['archived'] === true,
    mayPush: (row['permissions'] as Fields | undefined)?.['push'] === true,
  };
}

function toInstallation(row: Fields): HostInstallation {
  return {
    id: text(row, 'id'),
    accountLogin: text(fields(row['account'] ?? {}), 'login', ''),
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

function fields(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Failure('git_host', 'The response of the Git host has an unexpected format', {
    reason: 'refused',
    status: 200,
  });
}

function text(row: Fields, name: string, otherwise?: string): string {
  const value = row[name];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (otherwise !== undefined) return otherwise;
  throw new Failure('git_host', `The response of the Git host has no "${name}"`, { reason: 'refused', status: 200 });
}

// Missing permissions and events of the application on the Git host, for `platform doctor` and the operator.
import type { GitHost, Permissions } from '#git/host/connection.ts';
import { readApp } from '#git/host/repositories.ts';

/** A missing permission or event, and the features that do not work without it. */
interface Missing {
  readonly kind: 'permission' | 'event';
  /** The name in the Git host's settings: `statuses: write`. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly without: string;
}

const rights = [
  ['contents', 'read', true, 'repositories cannot be cloned'],
  ['metadata', 'read', true, 'repositories cannot be listed'],
  ['statuses', 'write', false, 'commits show no status'],
  ['pull_requests', 'write', false, 'pull requests get no comment, and those of forks no preview'],
] as const;

const events = [
  ['push', true, 'pushes are not deployed'],
  ['repository', true, 'renamed and deleted repositories are not noticed'],
  ['pull_request', false, 'pull requests get no comment, and those of forks no preview'],
  ['delete', false, 'where a push does not tell of it, the preview of a removed branch stays'],
] as const;

/** Missing permissions of the application. @throws {Failure} `git_host` */
export async function missingPermissions(host: GitHost): Promise<Missing[]> {
  const app = await readApp(host);
  return [
    ...rights
      .filter(([name, right]) => !includes(app.permissions, name, right))
      .map(([name, right, isRequired, without]): Missing => ({
        kind: 'permission',
        name: `${name}: ${right}`,
        isRequired,
        without,
      })),
    ...events
      .filter(([name]) => !app.events.includes(name))
      .map(([name, isRequired, without]): Missing => ({ kind: 'event', name, isRequired, without })),
  ];
}

/** Whether the permissions include a permission; write includes read. */
export function includes(permissions: Permissions, name: string, right: 'read' | 'write'): boolean {
  const granted = Object.hasOwn(permissions, name) ? permissions[name] : undefined;
  return granted === right || granted === 'write' || granted === 'admin';
}

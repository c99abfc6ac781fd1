// Decides which pushes deploy a project. Pure.
import type { ConnectedProject } from './connected-projects.ts';

const SKIP_MARK = /\[(?:skip ci|ci skip|no deploy)\]/i;

/**
 * Why a push does not deploy a project, in user-facing words; null if it does.
 *
 * @param files changed by its commits; null means unknown or incomplete. @param folders the folders of all projects of
 * the repository.
 * @example skipReason({ message: 'Fix a typo [skip ci]', files: null }, project, ['']) // 'The commit says [skip ci]'
 */
export function skipReason(
  { message, files }: { readonly message: string; readonly files: readonly string[] | null },
  { configPath }: Pick<ConnectedProject, 'configPath'>,
  folders: readonly string[],
): string | null {
  const mark = SKIP_MARK.exec(message)?.[0];
  if (mark !== undefined) return `The commit says ${mark}`;
  if (files === null || configPath === '' || files.some((file) => concerns(file, configPath, folders))) return null;
  return `The commits touch neither ${configPath} nor what projects of the repository share`;
}

/**
 * Whether a file belongs to a project or is shared: at the root, or in a folder of no project, such as a shared
 * package. Text documents at the root belong to no project in a folder.
 */
function concerns(file: string, folder: string, folders: readonly string[]): boolean {
  if (isIn(file, folder)) return true;
  if (!file.includes('/')) return !/\.(?:md|txt)$/i.test(file) && !/^LICEN[CS]E$/i.test(file);
  return !folders.some((other) => other !== '' && isIn(file, other));
}

function isIn(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}

/** The fields of a push that define its order. */
export interface PushOrder {
  readonly before: string | null;
  readonly after: string | null;
  readonly pushedAt: number;
}

/**
 * Whether a later push was received before this one, because deliveries may arrive out of order. The host's clock
 * decides. Within one second, a push that starts at the commit where this push ends is later. If such pushes lead back
 * to the commit where this push starts (the branch was reset), the order of arrival decides, and this push is the last
 * one.
 */
export function isOvertaken(push: PushOrder, others: readonly PushOrder[]): boolean {
  if (others.some(({ pushedAt }) => pushedAt > push.pushedAt)) return true;
  const rest = others.filter(({ pushedAt }) => pushedAt === push.pushedAt);
  let at = push.after;
  let steps = 0;
  while (at !== push.before) {
    const next = rest.findIndex(({ before }) => before === at);
    if (next < 0) return steps > 0;
    at = rest[next]!.after;
    rest.splice(next, 1);
    steps++;
  }
  return false;
}

// Which pushes lead to a deployment of a project. Pure.
import type { ConnectedProject } from './connected-projects.ts';

const SKIP_MARK = /\[(?:skip ci|ci skip|no deploy)\]/i;

/**
 * Why a push is not deployed in a project, in words for its people; null: it is.
 *
 * @param files that its commits touch; null: not known, or not all of them.
 * @param folders of all projects of the repository.
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
 * Whether a file is of a project, or of all: one at the root, or in a folder that is no project's (a package that
 * several use). Text for people at the root concerns none of those in folders.
 */
function concerns(file: string, folder: string, folders: readonly string[]): boolean {
  if (isIn(file, folder)) return true;
  if (!file.includes('/')) return !/\.(?:md|txt)$/i.test(file) && !/^LICEN[CS]E$/i.test(file);
  return !folders.some((other) => other !== '' && isIn(file, other));
}

function isIn(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}

/** A push as far as its order among others goes. */
export interface PushOrder {
  readonly before: string | null;
  readonly after: string | null;
  readonly pushedAt: number;
}

/**
 * Whether a push was followed by others that came earlier: deliveries may overtake each other. The host's clock
 * decides, and within its second whether others begin where this one ends. Where those lead back to where it begins (a
 * branch that was put back), it came last, as it was told.
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

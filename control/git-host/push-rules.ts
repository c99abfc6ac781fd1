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
 * Whether a push was followed by another one that came earlier: deliveries may overtake each other. The host's clock
 * decides, and within its second which of them begins where this one ends.
 */
export function isOvertaken(push: PushOrder, others: readonly PushOrder[]): boolean {
  return others.some(
    (other) =>
      other.pushedAt > push.pushedAt ||
      (other.pushedAt === push.pushedAt && other.before === push.after && other.after !== push.before),
  );
}

// The branch a folder is on, read from Git's own files: no `git` has to be installed, and nothing of the repository
// runs.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** Where a folder stands in its repository. */
interface GitPlace {
  /** Null: no branch is checked out (a detached HEAD). */
  readonly branch: string | null;
  /**
   * The repository's default branch: that of `origin`, else `main` or `master`, whichever there is. Null: it cannot be
   * told.
   */
  readonly defaultBranch: string | null;
}

/** Null outside of a repository. */
export function gitPlace(folder: string): GitPlace | null {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const found = gitFolderOf(path.join(at, '.git'));
    if (found !== null) return placeIn(found);
    if (at === path.dirname(at)) return null;
  }
}

/** `.git` is a folder, or in a worktree and a submodule a file that names it. */
function gitFolderOf(entry: string): string | null {
  const stat = statSync(entry, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  const folder = stat.isDirectory()
    ? entry
    : path.resolve(path.dirname(entry), /^gitdir: (.+)$/m.exec(read(entry))?.[1]?.trim() ?? '.');
  return existsSync(path.join(folder, 'HEAD')) ? folder : null;
}

function placeIn(folder: string): GitPlace {
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(read(path.join(folder, 'HEAD')))?.[1]?.trim() ?? null;
  const common = path.resolve(folder, read(path.join(folder, 'commondir')).trim() || '.');
  const ofOrigin = /^ref: refs\/remotes\/origin\/(.+)$/m
    .exec(read(path.join(common, 'refs/remotes/origin/HEAD')))?.[1]
    ?.trim();
  const branches = branchesIn(common);
  return {
    branch,
    defaultBranch: ofOrigin ?? ['main', 'master'].find((name) => name === branch || branches.has(name)) ?? null,
  };
}

/** Branches as files, and those that Git has packed into one. */
function branchesIn(common: string): Set<string> {
  const heads = path.join(common, 'refs/heads');
  const files = existsSync(heads)
    ? readdirSync(heads, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    : [];
  const packed = read(path.join(common, 'packed-refs')).matchAll(/ refs\/heads\/(.+)$/gm);
  return new Set([
    ...files.map(({ parentPath, name }) => path.relative(heads, path.join(parentPath, name))),
    ...[...packed].map(([, name]) => name!),
  ]);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

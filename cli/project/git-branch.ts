// Reads the current branch from Git's files, without `git` and without running code of the repository.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** Branch information of a folder. */
interface GitPlace {
  /** The current branch; null for a detached HEAD. */
  readonly branch: string | null;
  /** The default branch: the default branch of `origin`, or else an existing `main` or `master`. Null if unknown. */
  readonly defaultBranch: string | null;
}

/** Reads the branches of a folder's repository; null outside of a repository. */
export function gitPlace(folder: string): GitPlace | null {
  const found = ownGitFolder(folder);
  return found === null ? null : placeIn(found);
}

/** SHA of the checked-out commit; null outside of a repository or without commits. */
export function commitOf(folder: string): string | null {
  const config = gitConfigFile(folder);
  if (config === null) return null;
  const common = path.dirname(config);
  const own = ownGitFolder(folder) ?? common;
  const head = read(path.join(own, 'HEAD')).trim();
  const ref = /^ref: (.+)$/.exec(head)?.[1];
  const packed = (name: string): string | undefined =>
    read(path.join(common, 'packed-refs'))
      .split('\n')
      .find((line) => line.endsWith(` ${name}`))
      ?.split(' ')[0];
  const commit = ref === undefined ? head : read(path.join(common, ref)).trim() || (packed(ref) ?? '');
  return /^[0-9a-f]{40,64}$/.test(commit) ? commit : null;
}

function ownGitFolder(folder: string): string | null {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const found = gitFolderOf(path.join(at, '.git'));
    if (found !== null || at === path.dirname(at)) return found;
  }
}

/** Git configuration file of a folder's repository; null outside of a repository. */
export function gitConfigFile(folder: string): string | null {
  const found = ownGitFolder(folder);
  if (found === null) return null;
  const file = path.join(path.resolve(found, read(path.join(found, 'commondir')).trim() || '.'), 'config');
  return existsSync(file) ? file : null;
}

/** `.git` is a folder, or in worktrees and submodules a file with its path. */
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

/** All branches, from the files in `refs/heads` and from `packed-refs`. */
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

// Detects the repository of a project for monorepos: its root, whether it is a workspace, its projects. Reads only file
// names and two files. Called by project.ts and choose-projects.ts.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { inspectRepository, parseWorkspaceFile, workspaceFileName, type Workspace } from '#core/config/workspace.ts';

/** Limits of the search for projects, since a home folder may be a repository too. */
const FOLDERS_MAX = 5000;
const DEPTH_MAX = 8;

/** Repository and workspace of a folder. */
interface Place {
  /**
   * The folder to which `base` is relative: the folder with `.git`, else the nearest folder with a workspace manifest,
   * else the given folder.
   */
  readonly repository: string;
  /**
   * The outermost workspace of the repository, where dependencies are installed; null if there is none.
   */
  readonly workspace: string | null;
}

/** Finds the repository of a folder. */
export function placeOf(folder: string): Place {
  let nearest: string | null = null;
  let outermost: string | null = null;
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const names = namesIn(at);
    if (inspectRepository({ paths: names, texts: textsOf(at, ['package.json']) }).monorepo) {
      nearest ??= at;
      outermost = at;
    }
    if (names.includes('.git')) {
      // A repository with two projects is a workspace as well. If the project is its root, that does not matter.
      const isMonorepo = outermost === null && at !== path.resolve(folder) && readRepository(at).monorepo;
      return { repository: at, workspace: isMonorepo ? at : outermost };
    }
    if (at === path.dirname(at)) return { repository: nearest ?? path.resolve(folder), workspace: nearest };
  }
}

/** The folder of the `.platform` shared by a workspace; without a workspace, the project's folder. */
export function workspaceFolder(folder: string): string {
  return placeOf(folder).workspace ?? folder;
}

/**
 * Projects of a repository, by the rules of core/config/workspace.ts. Skips hidden folders and installed packages.
 */
export function readRepository(root: string): Workspace {
  const paths: string[] = [];
  const waiting: { folder: string; depth: number }[] = [{ folder: '', depth: 0 }];
  let folders = 0;
  for (let next = waiting.shift(); next !== undefined && ++folders <= FOLDERS_MAX; next = waiting.shift()) {
    for (const entry of entriesIn(path.join(root, next.folder))) {
      const name = path.posix.join(next.folder, entry.name);
      if (!entry.isDirectory()) paths.push(name);
      else if (next.depth < DEPTH_MAX && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
        waiting.push({ folder: name, depth: next.depth + 1 });
    }
  }
  return inspectRepository({ paths, texts: textsOf(root, ['package.json', workspaceFileName]) });
}

/** platform-workspace.yaml of a repository: text and problems; null if missing. */
export function readWorkspaceFile(
  root: string,
): { file: string; text: string; problems: Workspace['problems'] } | null {
  const file = path.join(root, workspaceFileName);
  if (!existsSync(file)) return null;
  const text = readTextSync(file);
  return { file, text, problems: parseWorkspaceFile(text, { file }).problems };
}

function textsOf(folder: string, names: readonly string[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const name of names) {
    try {
      texts[name] = readTextSync(path.join(folder, name));
    } catch {
      // Missing or unreadable.
    }
  }
  return texts;
}

function namesIn(folder: string): string[] {
  return entriesIn(folder).map(({ name }) => name);
}

function entriesIn(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

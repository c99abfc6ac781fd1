// The repository around a project, as far as the rules of monorepos need it: where it begins, whether it is a
// workspace, which projects it holds. Reads names of files and two texts. Called by project.ts and choose-projects.ts.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { inspectRepository, parseWorkspaceFile, workspaceFileName, type Workspace } from '#core/config/workspace.ts';

/** Folders that are searched for projects, and how deep: a home folder may be a repository as well. */
const FOLDERS_MAX = 5000;
const DEPTH_MAX = 8;

/** Where a folder stands. */
interface Place {
  /**
   * The folder with `.git`, else the nearest with a workspace manifest, else the folder itself: what `base` is relative
   * to.
   */
  readonly repository: string;
  /**
   * The outermost folder of the repository that is a workspace; null where none is. Dependencies are installed there.
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
      // Two projects make a monorepo as well; the folder itself would gain nothing from it.
      const isMonorepo = outermost === null && at !== path.resolve(folder) && readRepository(at).monorepo;
      return { repository: at, workspace: isMonorepo ? at : outermost };
    }
    if (at === path.dirname(at)) return { repository: nearest ?? path.resolve(folder), workspace: nearest };
  }
}

/** The folder whose `.platform` the projects of a workspace share; without a workspace the project's own. */
export function workspaceFolder(folder: string): string {
  return placeOf(folder).workspace ?? folder;
}

/**
 * What a repository holds, by the rules of core/config/workspace.ts. Folders with a dot, and what is installed, are not
 * searched.
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

/** platform-workspace.yaml of a repository: its text and what is wrong with it; null where there is none. */
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
      // Not there, or nothing to read.
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

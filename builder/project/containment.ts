// Which files of the disk a build may read into an artifact: those of the project, of its workspace, and of installed
// packages. Asked with real paths, so that a link is as good as what it leads to. Called by everything in builder/ that
// reads.
import { readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { readTextSync } from '#core/text-file.ts';

/** The folder all modules of the platform itself are under; their paths in source maps start with `platform:`. */
export const builderFolder: string = dirname(import.meta.dirname);

/** The bounds of one build. */
export interface Containment {
  /** Real path of the project's folder. */
  readonly root: string;
  /** Real path of the repository where it is a workspace, else the project's folder. */
  readonly workspace: string;
  /** Real paths of the folders within which everything may be read. */
  readonly folders: readonly string[];
  /** Whether a file or folder lies within; false where there is none. @param path absolute */
  holds(path: string): boolean;
}

/** Links that are followed in search of a package: a bound, since the project decides on them. */
const LINKS_MAX = 20_000;

/**
 * The bounds of a project.
 *
 * @param root the project's folder, absolute @param workspace the repository where it is a workspace
 */
export function containmentOf(root: string, workspace: string = root): Containment {
  const own = realpathSync(root);
  const around = realpathSync(workspace);
  let linked: readonly string[] | null = null;
  const installed = [...new Set([own, ...foldersAbove(own), builderFolder, ...foldersAbove(builderFolder)])].flatMap(
    installedIn,
  );
  const folders = [...new Set([own, around, builderFolder, ...installed])];
  return {
    root: own,
    workspace: around,
    folders,
    holds(path) {
      const real = realPath(path);
      if (real === null) return false;
      if (folders.some((folder) => isInside(folder, real))) return true;
      // Looked for only now: hardly a project has a package that lies elsewhere.
      linked ??= linkedPackages(installed, own);
      return linked.some((folder) => isInside(folder, real));
    },
  };
}

/** Whether a path is a folder or lies in it; both absolute and without links. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The path without links; null where there is nothing. */
export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** The node_modules of a folder. It may be a link to that of another checkout, not to any folder. */
function installedIn(folder: string): string[] {
  const real = realPath(join(folder, 'node_modules'));
  return real !== null && basename(real) === 'node_modules' ? [real] : [];
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [] : [above, ...foldersAbove(above)];
}

/**
 * Packages that links in node_modules lead to, wherever they lie, and those that their own node_modules lead to:
 * `file:` dependencies and the stores of package managers. What is no package (it has no package.json with a name), or
 * holds the project itself, stays out: a link to /etc or to the home folder is not one.
 */
function linkedPackages(installed: readonly string[], root: string): string[] {
  const packages = new Set<string>();
  const folders = new Set(installed);
  let links = 0;
  for (const folder of folders) {
    for (const link of linksIn(folder)) {
      if (++links > LINKS_MAX) return [...packages];
      const target = realPath(link);
      if (target === null || packages.has(target) || isInside(target, root) || !isPackage(target)) continue;
      packages.add(target);
      folders.add(join(target, 'node_modules'));
      // A store keeps the dependencies of a package beside it.
      const beside = basename(dirname(target)).startsWith('@') ? dirname(dirname(target)) : dirname(target);
      if (basename(beside) === 'node_modules') folders.add(beside);
    }
  }
  return [...packages];
}

/** `node_modules/name` and `node_modules/@scope/name`, as far as they are links. */
function linksIn(folder: string): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) return [path];
    if (!entry.isDirectory() || !entry.name.startsWith('@')) return [];
    return entriesOf(path).flatMap((scoped) => (scoped.isSymbolicLink() ? [join(path, scoped.name)] : []));
  });
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isPackage(folder: string): boolean {
  try {
    const { name } = JSON.parse(readTextSync(join(folder, 'package.json'))) as { name?: unknown };
    return typeof name === 'string' && name !== '';
  } catch {
    return false;
  }
}

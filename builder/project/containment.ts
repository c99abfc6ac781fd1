// The files that a build may read: those of the project, its workspace, and installed packages. Real paths are checked,
// so links are resolved. Used by all of builder/ that reads files.
import { readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { readTextSync } from '#core/text-file.ts';

/** The root folder of the platform's modules; their paths in source maps start with `platform:`. */
export const builderFolder: string = dirname(import.meta.dirname);

/** The allowed folders of one build. */
export interface Containment {
  /** Real path of the project's folder. */
  readonly root: string;
  /** Real path of the repository if it is a workspace, otherwise the project's folder. */
  readonly workspace: string;
  /** Real paths of the folders in which everything may be read. */
  readonly folders: readonly string[];
  /** Whether a file or folder is inside; false if it does not exist. @param path absolute */
  holds(path: string): boolean;
}

/** Maximum links followed to find packages, since the project controls them. */
const LINKS_MAX = 20_000;

/**
 * Determines the allowed folders of a project.
 *
 * @param root the project's folder, absolute @param workspace the repository if it is a workspace
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
      // This list is computed on demand, because few projects have packages elsewhere.
      linked ??= linkedPackages(installed, own);
      return linked.some((folder) => isInside(folder, real));
    },
  };
}

/** Whether a path is a folder or inside it; both absolute and without links. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The path with links resolved; null if it does not exist. */
export function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/**
 * The node_modules of a folder. The folder may link to the node_modules of another checkout, but to no other folder.
 */
function installedIn(folder: string): string[] {
  const real = realPath(join(folder, 'node_modules'));
  return real !== null && basename(real) === 'node_modules' ? [real] : [];
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [] : [above, ...foldersAbove(above)];
}

/**
 * Packages to which links in node_modules lead, and recursively the packages in their own node_modules: `file:`
 * dependencies and package manager stores. Folders that are not a package (no package.json with a name), or that
 * contain the project itself, are excluded: a link to /etc or the home folder is not allowed.
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
      // A package manager's store keeps the dependencies of a package next to it.
      const beside = basename(dirname(target)).startsWith('@') ? dirname(dirname(target)) : dirname(target);
      if (basename(beside) === 'node_modules') folders.add(beside);
    }
  }
  return [...packages];
}

/** Lists the entries `node_modules/name` and `node_modules/@scope/name` that are links. */
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

// The folders of the build program (child.ts), which the confined program must be able to read. Used by fence.ts, and
// to determine the confinement.
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { nodeFolders, realPath } from '#core/process/confinement/command-line.ts';

/** The parts of the platform's folder used by the bundler. */
const OWN_PARTS = ['builder', 'core', 'artifacts/archive', 'packages', 'node_modules', 'package.json'] as const;

/** The program's entry file. */
export const CHILD = join(import.meta.dirname, `child${extname(import.meta.filename)}`);

/**
 * The folder whose `node_modules` holds the platform and, next to it, its dependencies. Null if the platform is not an
 * installed package.
 *
 * @param root folder of the platform.
 */
export function packageHome(root: string): string | null {
  return /^(.*)\/node_modules\/(?:@[^/]+\/)?[^/]+$/.exec(root)?.[1] ?? null;
}

/** The platform's folders that the program needs, and Node. */
export function ownFolders(): string[] {
  const root = join(import.meta.dirname, '../..');
  const home = packageHome(root);
  const parts = [
    ...OWN_PARTS.map((part) => join(root, part)),
    ...(home === null ? [] : [join(home, 'node_modules')]),
  ].filter((path) => existsSync(path));
  const folders = [...parts, ...parts.map(realPath), ...nodeFolders()];
  // Folders inside another folder would be mounted twice.
  return [...new Set(folders)].filter(
    (path) => !path.startsWith('/usr/') && !folders.some((other) => other !== path && path.startsWith(`${other}/`)),
  );
}

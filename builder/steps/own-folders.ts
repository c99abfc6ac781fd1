// The folders that a build's own process (child.ts) is made of, which it has to read wherever it is confined. Called by
// fence.ts, and by whoever looks for a confinement.
import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { nodeFolders, realPath } from '#core/process/confinement/command-line.ts';

/** What of the platform's own folder the bundler consists of. */
const OWN_PARTS = ['builder', 'core', 'artifacts/archive', 'packages', 'node_modules', 'package.json'] as const;

/** The program of that process. */
export const CHILD = join(import.meta.dirname, `child${extname(import.meta.filename)}`);

/** The folders of the platform that a build's own process is made of, and Node. */
export function ownFolders(): string[] {
  const root = join(import.meta.dirname, '../..');
  const parts = OWN_PARTS.map((part) => join(root, part)).filter((path) => existsSync(path));
  const folders = [...parts, ...parts.map(realPath), ...nodeFolders()];
  // Those that lie in one that is there already would only be bound twice.
  return [...new Set(folders)].filter(
    (path) => !path.startsWith('/usr/') && !folders.some((other) => other !== path && path.startsWith(`${other}/`)),
  );
}

// The platform's own adapters of frameworks (packages/nitro): how a build command is told to use them, and where they
// put what they make. Called by build-step.ts before and after the command, and by entry.ts and output-folder.ts. The
// variables that it sets say where a file of the platform lies, and nothing else.
import { lstatSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EntryConfig } from '../project.ts';

/** Where every adapter writes: the worker is `server/index.mjs`, what is served as files lies in `public/`. */
export const adaptedOutput = '.platform/output';

/** What an adapter made, relative to the project's root. */
interface Adapted {
  readonly entry: string;
  /** Null: there are no files to serve. */
  readonly assets: string | null;
}

/** Whether a project leaves it to the platform what becomes of its build: it names no file or folder of its own. */
function leavesItToUs({ kind, main, out, build }: EntryConfig): boolean {
  return build !== null && main === null && out === null && kind !== 'static' && kind !== 'ssr';
}

/** Variables with which frameworks find our adapters; those of the project are kept beside them. */
export function adapterVariables(
  config: EntryConfig,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  if (!leavesItToUs(config)) return { ...own };
  return { NITRO_PRESET: fileURLToPath(new URL('../../packages/nitro', import.meta.url)), ...own };
}

/** Takes away what an earlier build left, so that it is never taken for the result of the next one. */
export function clearAdapted(root: string): void {
  if (isOwnFolder(root)) rmSync(join(root, adaptedOutput), { recursive: true, force: true });
}

/** What an adapter made in the build of a project; null: none took part. */
export function findAdapted(root: string, config: EntryConfig): Adapted | null {
  const entry = `${adaptedOutput}/server/index.mjs`;
  if (!leavesItToUs(config) || !isOwnFolder(root) || !isThere(root, entry)?.isFile()) return null;
  const assets = `${adaptedOutput}/public`;
  return { entry, assets: isThere(root, assets)?.isDirectory() ? assets : null };
}

/** A link may lead anywhere: nothing is deleted or read behind it. */
function isOwnFolder(root: string): boolean {
  return lstatSync(join(root, '.platform'), { throwIfNoEntry: false })?.isDirectory() === true;
}

function isThere(root: string, path: string) {
  return statSync(join(root, path), { throwIfNoEntry: false });
}

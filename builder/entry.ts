// What kind of project a folder is, and which file its worker starts at. Called by build.ts and by `platform dev`.
import { existsSync, realpathSync, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { BuildError } from './build-error.ts';
import type { EntryConfig } from './project.ts';

/** Where an entry is looked for when `main` is not set, in this order. */
export const entryCandidates: readonly string[] = [
  'src/index.ts',
  'src/index.tsx',
  'src/index.js',
  'src/index.mjs',
  'src/index.jsx',
  'worker/index.ts',
  'worker/index.js',
  'worker/index.mjs',
];

/** A project's kind and, unless it is static, the absolute path of its worker's entry. */
export type ProjectEntry = { readonly kind: 'static'; readonly entry: null } | { readonly kind: 'dynamic' | 'ssr'; readonly entry: string };

/**
 * The kind that `platform.yaml` says, or else the one the files show: a worker entry makes it dynamic, an index.html
 * without one static.
 *
 * @param root the project's folder, absolute and without symlinks
 * @throws {BuildError} `missing_entry` or `unknown_kind`, saying what was looked for.
 */
export function findEntry(root: string, config: EntryConfig): ProjectEntry {
  if (config.kind === 'static') return { kind: 'static', entry: null };
  const entry = config.main === null ? firstFile(root, entryCandidates) : mainFile(root, config.main);
  if (entry !== null) return { kind: config.kind ?? 'dynamic', entry };
  const looked = `looked for ${entryCandidates.join(', ')}`;
  if (config.kind !== null) {
    throw new BuildError('missing_entry', `No worker entry found: ${looked}. Create one of them, or set "main" in platform.yaml`);
  }
  const page = config.out === null ? 'index.html' : `${config.out}/index.html`;
  if (existsSync(join(root, page)) || (config.build !== null && config.out !== null)) return { kind: 'static', entry: null };
  throw new BuildError(
    'unknown_kind',
    `Cannot tell what kind of project this is: ${looked} (a worker) and ${page} (a static site). Set "kind" and "main" or "out" in platform.yaml`,
  );
}

function firstFile(root: string, paths: readonly string[]): string | null {
  for (const path of paths) {
    const file = join(root, path);
    if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
  }
  return null;
}

function mainFile(root: string, main: string): string {
  const file = resolve(root, main);
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) {
    throw new BuildError('missing_entry', `main: ${main} ${found ? 'is not a file' : 'does not exist'} (looked for ${file})`);
  }
  if (!realpathSync(file).startsWith(root + sep)) throw new BuildError('missing_entry', `main: ${main} lies outside of the project`);
  return file;
}

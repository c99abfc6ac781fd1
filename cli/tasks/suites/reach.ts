// Finds the test files that a change can affect: through imports, programs that modules start by path, and files that
// modules read. `npm test -- --changed` runs these files; .ci/run orders suites by their distance from the change.
import path from 'node:path';
import { root, runProgram } from '../tools/processes.ts';
import { isOwnModule, readSources, type Sources } from '../tools/sources.ts';

/** Distances of modules from a change. */
interface Reach {
  /**
   * Number of steps from a changed file to this module: 0 for a changed module, null if the change does not reach it.
   */
  distanceOf(file: string): number | null;
  /**
   * The smallest distance of modules in a folder and of files whose path begins with one of `covers`; null if none is
   * reached.
   */
  distanceOfFolder(folder: string, covers: readonly string[]): number | null;
}

/** Files whose changes can affect all tests. */
const EVERYTHING = /^(?:package-lock\.json|tsconfig\.json|\.npmrc|core\/node-flags\.mjs)$/;
/** Modules or folders loaded by computed paths. */
const computedPaths: Readonly<Record<string, readonly string[]>> = {
  'runtime/engine/isolates/snapshot.ts': ['runtime/engine/guest/'],
  'builder/bundle/bundle.ts': ['builder/node/', 'builder/shims/'],
  'test/setup/postgres.ts': ['test/setup/global.ts'],
  'test/hostile/main.ts': ['test/hostile/attacks/'],
};
/** A string literal that may be a module path. */
const QUOTED_PATH = /(['"`])((?:\.{1,2}\/|#)?[\w@.-]+(?:\/[\w@.-]+)*)\1/g;
/** An import that is erased when types are stripped. */
const TYPE_IMPORT = /^(?:import|export)\s+type\s[^'"`;]*?from\s+['"][^'"]+['"];?/gm;
const ENDINGS = ['', '.ts', '.mjs', '.tsx', '/main.ts'];

/**
 * Computes the distance of a checkout's modules from a change.
 *
 * @param changed paths relative to the checkout; also of files that were deleted.
 * @example
 * reach(['core/limits.ts']).distanceOf('runtime/engine/serving/engine.ts'); // 1
 */
export function reach(changed: readonly string[], sources: Sources = readSources(root)): Reach {
  const modules = Object.keys(sources).filter((file) => isOwnModule(file) || file.startsWith('test/wpt/'));
  const isModule = new Set(modules);
  const importers = new Map<string, Set<string>>();
  for (const from of modules)
    for (const to of leadsTo(from, sources[from]!, isModule)) {
      const known = importers.get(to);
      if (known === undefined) importers.set(to, new Set([from]));
      else known.add(from);
    }
  const distances = new Map<string, number>();
  const queue: string[] = [];
  const add = (file: string, distance: number): void => {
    if (distances.has(file)) return;
    distances.set(file, distance);
    queue.push(file);
  };
  const isEverything = changed.some((file) => EVERYTHING.test(file));
  for (const file of isEverything ? modules : changed) add(file, 0);
  if (!isEverything)
    for (const file of changed.filter((name) => !isModule.has(name)))
      for (const reader of readersOf(file, modules, sources)) add(reader, 1);
  for (const file of queue) for (const importer of importers.get(file) ?? []) add(importer, distances.get(file)! + 1);
  return {
    distanceOf: (file) => distances.get(file) ?? null,
    distanceOfFolder(folder, covers) {
      const found = changed.some((file) => covers.some((prefix) => file.startsWith(prefix))) ? [1] : [];
      for (const [file, distance] of distances) if (file.startsWith(folder)) found.push(distance);
      return found.length === 0 ? null : Math.min(...found);
    },
  };
}

/** The modules that a module imports, or names by their path. */
function leadsTo(from: string, text: string, isModule: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, , written] of text.replace(TYPE_IMPORT, '').matchAll(QUOTED_PATH)) {
    if (!written!.includes('/') && !written!.startsWith('#')) continue;
    const bases = written!.startsWith('#')
      ? [written!.slice(1)]
      : [path.posix.join(path.posix.dirname(from), written!), written!];
    const module = bases.flatMap((base) => ENDINGS.map((ending) => base + ending)).find((file) => isModule.has(file));
    if (module !== undefined) found.add(module);
  }
  for (const target of computedPaths[from] ?? [])
    for (const file of isModule) if (file.startsWith(target)) found.add(file);
  return found;
}

/**
 * The modules that read a file that is no module: those that name the file or its folder, and those of the nearest
 * parent folder that has modules.
 */
function readersOf(file: string, modules: readonly string[], sources: Sources): readonly string[] {
  const named = file.split('/').slice(0, 3).join('/');
  const names = [file, path.posix.basename(file), named.replace(/^test\//, '')].filter((name) => name.length > 5);
  // Comments of the product name pages of docs/, but only tests and the site read the pages.
  const mayRead = file.endsWith('.md') ? modules.filter((module) => /^(?:test|web)\//.test(module)) : modules;
  const byName = mayRead.filter((module) => names.some((name) => sources[module]!.includes(name)));
  for (let folder = path.posix.dirname(file); folder !== '.'; folder = path.posix.dirname(folder)) {
    const beside = mayRead.filter((module) => path.posix.dirname(module) === folder);
    if (beside.length > 0) return [...byName, ...beside];
  }
  return byName;
}

/** Files that differ from a commit, including new ones; null if the clone lacks the commit. */
export async function changedFiles(commit: string): Promise<readonly string[] | null> {
  const git = async (...words: string[]): Promise<readonly string[] | null> => {
    const { code, output } = await runProgram('git', words);
    return code === 0 ? output.split('\n').filter((line) => line !== '') : null;
  };
  const changed = await git('diff', '--name-only', '--no-renames', commit, '--');
  const untracked = await git('ls-files', '--others', '--exclude-standard');
  return changed === null ? null : [...changed, ...(untracked ?? [])];
}

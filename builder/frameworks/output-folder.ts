// The folder with a project's static files: `out`, or the default of its framework or convention. Called by build.ts
// after the build command, and by build-step.ts, which determines what that command wrote.
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { BuildError } from '../project/build-error.ts';
import { isInside } from '../project/containment.ts';
import type { EntryConfig } from '../project/project.ts';
import { findAdapted } from './adapters.ts';
import { detect } from './detect.ts';
import { filesIn } from './project-files.ts';
import { conventionalOutputs } from './table.ts';

/** Whether a path is in a generated folder, by its name. */
export function isOutputName(path: string): boolean {
  return /(?:^|[\\/])(?:dist|build|out|_site|\.output|\.svelte-kit|\.open-next|\.vercel)(?:[\\/]|$)/.test(path);
}

/**
 * Candidate output folders of a project without `out`, relative to its root. The folders of its framework come first.
 */
export function outputCandidates(root: string): string[] {
  const candidates = [...detect(filesIn(root)).out, ...conventionalOutputs].flatMap((path) => withStars(root, path));
  return [...new Set(candidates)];
}

/**
 * The served folder, absolute and without links, or null.
 *
 * @param kind kind of the project @param made folders that the build command wrote, relative to the root; null if no
 * build command ran
 * @throws {BuildError} `assets` if the folder is missing or outside the project.
 */
export function outputFolder(
  root: string,
  kind: 'static' | 'dynamic',
  config: EntryConfig,
  made: readonly string[] | null,
): string | null {
  if (config.out !== null) return declaredFolder(root, config.out, config.build);
  const adapted = findAdapted(root, config);
  if (adapted !== null) return adapted.assets === null ? null : inside(root, adapted.assets);
  const wrote = made?.find((path) => hasPage(root, path) && !holdsWorker(root, path, config.main));
  if (wrote !== undefined) return inside(root, wrote);
  const detected = detect(filesIn(root));
  if (kind !== 'static') {
    // A framework's worker renders the pages, so the folder has no index.html.
    const own = detected.isMainBuilt && detected.main === config.main ? detected.out : [];
    const found = [...own.flatMap((path) => withStars(root, path)), 'public'].find((path) => isFolder(root, path));
    return found === undefined ? null : inside(root, found);
  }
  if (made === null || made.length === 0) {
    if (hasPage(root, '.') && detected.mustBuild === null) return root;
    const found = made === null ? outputCandidates(root).find((path) => hasPage(root, path)) : undefined;
    if (found !== undefined) return inside(root, found);
  }
  const looked = [...new Set([...detected.out, ...conventionalOutputs])].join(', ');
  const what =
    made === null
      ? 'No folder has an index.html'
      : `The build command "${config.build}" created no folder with an index.html`;
  throw new BuildError(
    'assets',
    `${what}: looked for ${looked}. Set "out" in platform.yaml to the folder with the files to serve`,
  );
}

/** Whether a folder of the project has an index page. */
export function hasPage(root: string, path: string): boolean {
  return statSync(join(root, path, 'index.html'), { throwIfNoEntry: false })?.isFile() === true;
}

function isFolder(root: string, path: string): boolean {
  return statSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
}

function holdsWorker(root: string, path: string, main: string | null): boolean {
  return main !== null && resolve(root, main).startsWith(join(root, path) + sep);
}

function declaredFolder(root: string, out: string, build: string | null): string {
  if (statSync(resolve(root, out), { throwIfNoEntry: false })?.isDirectory() === true) return inside(root, out);
  const why = build === null ? '' : `; the build command "${build}" should create it`;
  const what = existsSync(resolve(root, out)) ? 'is not a folder' : 'does not exist';
  throw new BuildError('assets', `The output directory "${out}" ${what}${why}`);
}

function inside(root: string, path: string): string {
  const folder = realpathSync(resolve(root, path));
  if (!isInside(root, folder)) throw new BuildError('assets', `The output directory "${path}" is outside the project`);
  return folder;
}

/** The folders that match a path with one `*`, sorted; a path without `*` matches itself. */
function withStars(root: string, path: string): string[] {
  const star = path.split('/').indexOf('*');
  if (star < 0) return [path];
  const parts = path.split('/');
  const above = join(root, ...parts.slice(0, star));
  if (statSync(above, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(above, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) =>
      relative(root, join(above, entry.name, ...parts.slice(star + 1)))
        .split(sep)
        .join('/'),
    )
    .toSorted();
}

// Determines the kind of a project and its worker's entry file. Called by build.ts and by `platform dev`.
import { realpathSync, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { BuildError } from '../project/build-error.ts';
import type { EntryConfig } from '../project/project.ts';
import { findAdapted } from './adapters.ts';
import { detect, isBrowserEntry } from './detect.ts';
import { hasPage, outputCandidates } from './output-folder.ts';
import { filesIn } from './project-files.ts';
import { serverAdvice } from './server-advice.ts';
import { entryCandidates } from './table.ts';

/** Path of the worker in the framework's output folder. The first two files always count as a worker. */
const MADE_WORKERS: readonly string[] = [
  '_worker.js',
  '_worker.js/index.js',
  'worker.js',
  'worker.mjs',
  'server/index.js',
  'server/index.mjs',
  'index.js',
  'index.mjs',
];

/** A project's kind and, if it has its own worker, the absolute path of its entry. */
export type ProjectEntry =
  | { readonly kind: 'static' | 'ssr'; readonly entry: null }
  | { readonly kind: 'dynamic'; readonly entry: string };

/**
 * The kind set in `platform.yaml`, otherwise the detected kind: a worker entry makes it dynamic, an index.html without
 * a worker makes it static.
 *
 * @param root the project's folder, absolute and without symlinks
 * @throws {BuildError} `missing_entry` or `unknown_kind`, listing the files that were searched.
 */
export function findEntry(root: string, config: EntryConfig): ProjectEntry {
  if (config.kind === 'static' || config.kind === 'ssr') return { kind: config.kind, entry: null };
  const adapted = findAdapted(root, config);
  if (adapted !== null) return { kind: 'dynamic', entry: join(root, adapted.entry) };
  const entry = config.main === null ? usualEntry(root, config) : mainFile(root, config.main);
  if (entry !== null) return { kind: config.kind ?? 'dynamic', entry };
  const looked = `looked for ${entryCandidates.join(', ')}`;
  if (config.kind !== null) {
    const { framework, isKindDecided } = detect(filesIn(root));
    if (framework !== null && isKindDecided && config.build !== null)
      throw new BuildError(
        'not_supported',
        `The build command "${config.build}" made no worker of this ${framework.name} project. What works: ${serverAdvice(framework.id)}`,
      );
    throw new BuildError(
      'missing_entry',
      `No worker entry found: ${looked}. Create one of them, or set "main" in platform.yaml`,
    );
  }
  if (config.out !== null ? hasPage(root, config.out) || config.build !== null : isSite(root, config))
    return { kind: 'static', entry: null };
  const page = config.out === null ? 'index.html' : `${config.out}/index.html`;
  const wrangler = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'].find(
    (name) => filesIn(root).text(name) !== null,
  );
  const isProject = ['platform.yaml', 'platform.yml', 'package.json'].some((name) => filesIn(root).text(name) !== null);
  if (!isProject && wrangler === undefined)
    throw new BuildError(
      'unknown_kind',
      `There is no project here: ${looked}, ${page}, platform.yaml and package.json. Change to the folder of your project, or create one with \`platform init\``,
    );
  const advice = wrangler === undefined ? '' : `; \`platform import\` makes one of ${wrangler}`;
  throw new BuildError(
    'unknown_kind',
    `Cannot tell what kind of project this is: ${looked} (a worker) and ${page} (a static site). Set "kind" and "main" or "out" in platform.yaml${advice}`,
  );
}

/**
 * Whether a project without worker and `out` is a static site. A project that needs a build but has no build command is
 * an error.
 */
function isSite(root: string, config: EntryConfig): boolean {
  if (config.build !== null) return true;
  const { mustBuild, build, framework } = detect(filesIn(root));
  if (mustBuild !== null && (hasPage(root, '.') || framework !== null)) {
    throw new BuildError(
      'unknown_kind',
      `This project has to be built before it is served: ${mustBuild}. Add "build: ${build ?? 'npm run build'}" to platform.yaml, or "out" with the folder to serve as it is`,
    );
  }
  return mustBuild === null && (hasPage(root, '.') || outputCandidates(root).some((path) => hasPage(root, path)));
}

function usualEntry(root: string, config: EntryConfig): string | null {
  const made = config.out === null ? [] : MADE_WORKERS.map((name) => join(config.out!, name));
  const sources = entryCandidates.filter((path) => !isBrowserEntry(filesIn(root), path));
  // Other files in the output folder may be for browsers: they only count if the project declares a worker.
  return firstFile(root, [
    ...made.slice(0, 2),
    ...sources,
    ...(config.kind === 'dynamic' && config.build !== null ? made.slice(2) : []),
  ]);
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
    throw new BuildError(
      'missing_entry',
      `main: ${main} ${found ? 'is not a file' : 'does not exist'} (looked for ${file})`,
    );
  }
  if (!realpathSync(file).startsWith(root + sep))
    throw new BuildError('missing_entry', `main: ${main} lies outside of the project`);
  return file;
}

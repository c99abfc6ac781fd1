// The server of an ssr project: the server built by its framework, or the `start` script of package.json; and the
// folders that are served as static files. Reads the project's folder after the build. Called by build.ts.
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { BuildError } from '../project/build-error.ts';
import { serverStart } from '../frameworks/detect.ts';
import { filesIn } from '../frameworks/project-files.ts';
import { parseManifest } from '../frameworks/project-view.ts';
import type { EntryConfig } from '../project/project.ts';

/** The server of a built project. */
export interface ProjectServer {
  /** Absolute path of the folder that is archived, with everything that the server may need. */
  readonly base: string;
  /** Working directory in `base`; '' is `base` itself. */
  readonly folder: string;
  readonly start: string;
  /**
   * `whole`: all of `base`, which the framework has already selected; `packages`: the project with its dependencies.
   */
  readonly archived: 'whole' | 'packages';
  /** Folders that the framework does not copy to its server: target in `base`, and source. */
  readonly added: readonly (readonly [to: string, from: string])[];
  /** Folders served before the server gets a request: URL prefix and path. */
  readonly assets: readonly (readonly [prefix: string, folder: string])[];
}

/** Server outputs of frameworks, with their assets folder; the package identifies the framework. */
const MADE_SERVERS = [
  { package: '@angular/ssr', server: 'dist/*/server/server.mjs', assets: 'dist/*/browser' },
  { package: '@sveltejs/adapter-node', server: 'build/index.js', assets: 'build/client' },
  { package: '@astrojs/node', server: 'dist/server/entry.mjs', assets: 'dist/client' },
  { package: null, server: '.output/server/index.mjs', assets: '.output/public' },
] as const;

/** Default folders of client files. */
const CLIENT_FOLDERS = ['dist/client', 'build/client', 'public'] as const;
/** Subfolders for client files in an output folder that also contains the server. */
const CLIENT_PARTS = ['client', 'browser', 'public'] as const;

/**
 * @param root the project's folder, absolute and without links @param workspace the repository's
 * @throws {BuildError} `missing_entry` when no start command was found.
 */
export function findServer(root: string, workspace: string, config: EntryConfig): ProjectServer {
  const next = standaloneOf(root, workspace);
  if (next !== null) return next;
  const { packages } = parseManifest(filesIn(root).text('package.json'));
  const folder = path.relative(workspace, root).split(path.sep).join('/');
  const whole = { base: workspace, folder, archived: 'packages', added: [] } as const;
  for (const made of MADE_SERVERS) {
    if (made.package !== null && !packages.has(made.package)) continue;
    const server = firstOf(root, made.server);
    if (server === null) continue;
    const client = firstOf(root, made.assets);
    return { ...whole, start: `node ${server}`, assets: client === null ? [] : [['', path.join(root, client)]] };
  }
  const start = serverStart(filesIn(root));
  if (start === null)
    throw new BuildError(
      'missing_entry',
      'kind: ssr needs a command that starts the server: add a script "start" to package.json, such as "node server.js". It has to listen on the port that the variable PORT says',
    );
  const client = clientFolder(root, config.out, start);
  return { ...whole, start, assets: client === null ? [] : [['', path.join(root, client)]] };
}

/** Output of Next.js with `output: 'standalone'`; null if this option is not set. */
function standaloneOf(root: string, workspace: string): ProjectServer | null {
  const base = path.join(root, '.next', 'standalone');
  // In a monorepo, the output repeats the path of the project in the repository.
  const folder = ['', path.relative(workspace, root).split(path.sep).join('/')].find((name) =>
    existsSync(path.join(base, name, 'server.js')),
  );
  if (folder === undefined) return null;
  const shown = (name: string): boolean => existsSync(path.join(root, name));
  const inside = (name: string): string => (folder === '' ? name : `${folder}/${name}`);
  return {
    base,
    folder,
    start: 'node server.js',
    archived: 'whole',
    // Next.js's image optimizer reads these files.
    added: (['public', '.next/static'] as const)
      .filter((name) => shown(name) && !existsSync(path.join(base, inside(name))))
      .map((name) => [inside(name), path.join(root, name)] as const),
    assets: [
      ...(shown('public') ? [['', path.join(root, 'public')] as const] : []),
      ...(shown('.next/static') ? [['_next/static/', path.join(root, '.next/static')] as const] : []),
    ],
  };
}

/**
 * Warns about a Next.js project whose server includes all packages; null means no warning.
 *
 * @param bytes size of the server's files
 */
export function standaloneWarning(server: ProjectServer, root: string, bytes: number): string | null {
  if (server.archived === 'whole' || !parseManifest(filesIn(root).text('package.json')).packages.has('next'))
    return null;
  return (
    `The server is ${Math.ceil(bytes / 1_000_000)} MB, because it includes all packages. ` +
    "Set `output: 'standalone'` in next.config to include only the packages that it needs: deploys and starts are faster"
  );
}

/** The folder with client files; null means that it is unknown, and that the server serves these files itself. */
function clientFolder(root: string, out: string | null, start: string): string | null {
  const isFolder = (name: string): boolean =>
    statSync(path.join(root, name), { throwIfNoEntry: false })?.isDirectory() === true;
  if (out === null) return CLIENT_FOLDERS.find(isFolder) ?? null;
  if (!isFolder(out))
    throw new BuildError(
      'assets',
      `The output directory "${out}" does not exist: kind ssr serves it before the server`,
    );
  // The folder that contains the server's code is never served.
  const server = start.split(/[\s"']+/).find((word) => /\.[cm]?[jt]sx?$/.test(word));
  const holdsServer = server !== undefined && !path.relative(out, server).startsWith('..');
  if (!holdsServer && out !== '.' && out !== '.next') return out;
  return CLIENT_PARTS.map((part) => path.posix.join(out, part)).find(isFolder) ?? null;
}

/** The first existing path; one segment may be `*`. */
function firstOf(root: string, pattern: string): string | null {
  const [before, after] = pattern.split('*');
  if (after === undefined) return existsSync(path.join(root, pattern)) ? pattern : null;
  const above = path.join(root, before!);
  if (!existsSync(above)) return null;
  const names = readdirSync(above).sort();
  return names.map((name) => `${before}${name}${after}`).find((name) => existsSync(path.join(root, name))) ?? null;
}

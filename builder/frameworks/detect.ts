// Detects from a project's files how it is built and run; no other code does this. Pure: it reads names and texts
// (project-files.ts), before or after a build, and runs no code. Called by builder/steps/, by the rest of frameworks/,
// and by the commands build, deploy, dev and init.
import path from 'node:path';
import { inspectRepository } from '#core/config/workspace.ts';
import {
  buildOf,
  devOf,
  isSelfBuilt,
  startCommand,
  startOf,
  startScript,
  type DetectedDev,
  type TaskRunner,
} from './commands.ts';
import { movesOutput, namedOutput, sitePlace } from './configured-output.ts';
import { decideKind, vitePluginPackage, type Decision, type Kind } from './kinds.ts';
import { exportsHandler, listens, nodeServerOf } from './node-server.ts';
import { managerOf, type Manager } from './packages.ts';
import { isLoadedByPage, pageFolder, pageNeedsBuild } from './pages.ts';
import type { ProjectFiles } from './project-files.ts';
import { openProject, parseManifest, parseObject, type ProjectView } from './project-view.ts';
import { conventionalOutputs, entryCandidates, frameworks, type Framework } from './table.ts';

/** The detected properties of a project. Paths are relative to the project's folder. */
export interface Detection {
  /** Null means no known framework. `version` is null if the version cannot be determined. */
  readonly framework: { readonly id: string; readonly name: string; readonly version: string | null } | null;
  /** How the framework was detected, or ''. */
  readonly because: string;
  /** Null means that only the build shows whether there is a worker. */
  readonly kind: Kind | null;
  /** Whether the framework or a server determines the kind, so that sources are not considered. */
  readonly isKindDecided: boolean;
  /** The reason for the kind, for the log, or ''. */
  readonly kindBecause: string;
  /** Build command, run in the project's folder; null if none is needed or known. */
  readonly build: string | null;
  /** The reason for the command. */
  readonly buildBecause: string;
  /** Why the project must be built before it can be served; null if no build is necessary. */
  readonly mustBuild: string | null;
  /** Whether there is a package.json. */
  readonly hasPackages: boolean;
  /** Whether the project's script `build` is `platform build`, which the bundler replaces. */
  readonly isSelfBuilt: boolean;
  /** A message that the script `build` is not used, or null. */
  readonly skipped: string | null;
  /** The worker: a source, or a file created by the build; null means it is determined by the build's output. */
  readonly main: string | null;
  /** Whether the build creates {@link main}. */
  readonly isMainBuilt: boolean;
  /** Folders with client files, the most likely first; `*` matches one folder. */
  readonly out: readonly string[];
  /** Command that starts the built server; only for `ssr`. */
  readonly start: string | null;
  /** The framework's own dev server; null if it has none, or `platform dev` serves the project itself. */
  readonly dev: DetectedDev | null;
  readonly manager: Manager;
  /** Where dependencies are installed, relative to the repository. */
  readonly installFolder: string;
  readonly monorepo: { readonly isOne: boolean; readonly indicators: readonly string[] };
  /** Problems that prevent a build, each with a fix. */
  readonly problems: readonly string[];
}

/**
 * Analyzes a project.
 *
 * @param files the files of the repository, or of the folder alone @param folder the project's folder, relative to the
 * repository
 * @example detect(filesIn('/srv/app')).framework?.name // 'Nuxt'
 */
export function detect(files: ProjectFiles, folder = '.'): Detection {
  const project = openProject(files, folder);
  const place = placeOf(files, folder);
  const { manager, installFolder, monorepo } = place;
  const { framework, problem } = frameworkOf(project);
  const entry = entryOf(project, framework);
  const decision = decide(project, framework, entry);
  // A Node server may also have a file that is named like a worker's entry.
  const isWorker = entry !== null && decision?.main === undefined && decision?.kind !== 'ssr';
  const { build, buildBecause, skipped } = buildOf(project, place, framework, decision, isWorker);
  const output = outputOf(project, framework, decision);
  const version = framework === null ? null : versionOf(project, framework);
  const known = framework === null ? null : { id: framework.id, name: framework.name, version };
  return {
    framework: known,
    because: known === null ? '' : 'from its package.json and files',
    kind: decision?.kind ?? null,
    isKindDecided: decision?.isDecided === true,
    kindBecause: decision?.because ?? '',
    build,
    buildBecause,
    skipped,
    hasPackages: project.text('package.json') !== null,
    isSelfBuilt: isSelfBuilt(project),
    mustBuild: mustBuildOf(project, framework),
    main: decision?.main ?? (decision?.kind === 'dynamic' || decision === null ? entry : null),
    isMainBuilt: decision?.main !== undefined,
    out: output.out,
    start: decision?.kind === 'ssr' ? startOf(project, manager, decision) : null,
    dev: devOf(project, manager, framework),
    manager,
    installFolder,
    monorepo,
    problems: [
      problem,
      decision?.problem ?? null,
      ...versionProblems(project, known, framework, decision),
      nxProblem(project, place),
      output.problem,
    ].filter((text) => text !== null),
  };
}

/**
 * The shell command that starts a built project in its folder; null if unknown.
 *
 * @example serverStart(files) // 'node server.js', of {"scripts":{"start":"node server.js"}} in package.json
 */
export function serverStart(files: ProjectFiles): string | null {
  const project = openProject(files, '.');
  const { framework } = frameworkOf(project);
  return startCommand(project, decide(project, framework, entryOf(project, framework)));
}

/** Whether a project, or a parent folder, depends on the platform's Vite plugin. */
export function usesVitePlugin(files: ProjectFiles): boolean {
  return openProject(files, '.').dependsOn(vitePluginPackage);
}

/** Whether a source is a browser entry instead of a worker: the page loads it, or the framework expects it there. */
export function isBrowserEntry(files: ProjectFiles, file: string): boolean {
  const project = openProject(files, '.');
  return isForBrowsers(project, frameworkOf(project).framework, file);
}

function isForBrowsers(project: ProjectView, framework: Framework | null, file: string): boolean {
  if (file.startsWith('src/') && framework?.id === 'create-react-app') return true;
  return isLoadedByPage(project, file);
}

type Place = Pick<Detection, 'manager' | 'installFolder' | 'monorepo'> & { readonly runner: TaskRunner | null };

/** The package manager and its install folder: in a monorepo the root, unless no packages are to be installed there. */
function placeOf(files: ProjectFiles, folder: string): Place {
  const names = files.names('.');
  const manifest = files.text('package.json');
  const { monorepo: isOne, indicators } = inspectRepository({
    paths: names.includes('.moon') ? [...names, ...files.names('.moon').map((name) => `.moon/${name}`)] : names,
    texts: manifest === null ? {} : { 'package.json': manifest },
  });
  const installFolder = isOne && manifest !== null ? '.' : folder;
  const own = managerOf(files.names(installFolder), files.text(path.posix.join(installFolder, 'package.json')));
  // A pnpm workspace needs no package.json at its root.
  const manager = isOne && own.lockfile === null && own.version === null ? managerOf(names, manifest) : own;
  const { packages } = parseManifest(manifest);
  const runner = (['turbo', 'nx'] as const).find(
    (name) => folder !== '.' && packages.has(name) && indicators.some((file) => file.startsWith(`${name}.json`)),
  );
  return { manager, installFolder, monorepo: { isOne, indicators }, runner: runner ?? null };
}

/** Candidate folders for client files. */
function outputOf(
  project: ProjectView,
  framework: Framework | null,
  decision: Decision | null,
): { readonly out: readonly string[]; readonly problem: string | null } {
  const usual = decision?.out ?? framework?.out ?? [];
  if (decision?.kind === 'static' && framework !== null) {
    if (movesOutput(project, framework))
      return { out: [...new Set([...usual, ...conventionalOutputs])], problem: null };
    const named = namedOutput(project, framework);
    // Folders outside are never read, even if the problem is overridden; the project's own folder is not served either.
    if (named !== null && named.problem === null && named.folder !== '.') return { out: [named.folder], problem: null };
    if (named?.problem != null) return { out: usual, problem: named.problem };
  }
  const site = framework === null ? null : sitePlace(project, framework);
  return { out: site === null ? usual : usual.filter((place) => place.startsWith(`${site}/`)), problem: null };
}

/** An Nx project with packages only at the root is built from the root, with its output there. */
function nxProblem(project: ProjectView, { runner }: Place): string | null {
  const text = project.text('project.json');
  if (runner !== 'nx' || text === null || project.has('package.json')) return null;
  const { name } = parseObject(text);
  const shown = typeof name === 'string' ? name : '<project>';
  return `This project of Nx has no package.json: its packages and its output lie at the root of the repository. Have a platform.yaml there with "kind: static", "build: nx build ${shown}" and "out: dist/${project.folder}"; or give it a package.json with a script "build"`;
}

function frameworkOf(project: ProjectView): { framework: Framework | null; problem: string | null } {
  const found = frameworks.filter(
    ({ packages, files = [] }) =>
      packages.some((name) => project.packages.has(name)) || files.some((file) => project.has(file)),
  );
  const [first = null] = found;
  const rivals = found.filter(({ isTool, id }) => isTool !== true && !(first?.covers ?? []).includes(id));
  if (rivals.length < 2) return { framework: first, problem: null };
  const configured = rivals.filter(({ config = [] }) => config.some((name) => project.hasConfig(name)));
  if (configured.length === 1) return { framework: configured[0]!, problem: null };
  const script = `${project.scripts.get('build') ?? ''} ${project.scripts.get('dev') ?? ''}`;
  const called = (configured.length === 0 ? rivals : configured).filter(
    ({ build }) => build !== null && script.includes(build.split(' ')[0]!),
  );
  if (called.length === 1) return { framework: called[0]!, problem: null };
  const all = (configured.length === 0 ? rivals : configured).map(({ name }) => name);
  return {
    framework: first,
    problem: `There are ${all.length} frameworks in this folder: ${all.join(' and ')}. Give each a folder with a platform.yaml of its own, or say which one is built by "kind" and "build" in platform.yaml`,
  };
}

/** The worker among the sources. Frameworks that build their own worker have no worker among the sources. */
function entryOf(project: ProjectView, framework: Framework | null): string | null {
  if (framework !== null && framework.isTool !== true && decideKind[framework.id] !== undefined) return null;
  return (
    entryCandidates.find((file) => project.text(file) !== null && !isForBrowsers(project, framework, file)) ?? null
  );
}

/** The kind, and whether it is independent of the sources. */
type FinalDecision = Decision & { readonly isDecided?: true };

function decide(project: ProjectView, framework: Framework | null, entry: string | null): FinalDecision | null {
  const server = nodeServerOf(project, startScript(project));
  const source = entry === null ? null : project.text(entry)!;
  const isHandler = source !== null && exportsHandler(source);
  if (source !== null && (server === null || isHandler)) {
    const problem = `${entry} starts a server of its own and exports no handler. For an isolate, end it with "export default app" in place of what listens; for a process of Node, add a script "start" to package.json that runs it`;
    return {
      kind: 'dynamic',
      because: `there is a worker, ${entry}`,
      ...(!isHandler && listens(source) && { problem }),
    };
  }
  const rule = framework === null ? undefined : decideKind[framework.id];
  if (rule !== undefined) return { ...rule(project), isDecided: true };
  if (framework !== null && framework.isTool !== true)
    return { kind: 'static', because: `${framework.name} makes files`, isDecided: true };
  if (server !== null) return { kind: 'ssr', because: `its script "start" runs a server (${server})`, isDecided: true };
  if (framework?.id === 'vite') return { kind: 'static', because: 'Vite writes static files, and there is no worker' };
  const page = framework === null && mustBuildOf(project, null) === null ? pageFolder(project) : null;
  if (page !== null)
    return {
      kind: 'static',
      because: `there is an index.html${page === '.' ? '' : ` in ${page}`}, and no worker`,
      ...(page !== '.' && { out: [page] }),
    };
  return null;
}

function mustBuildOf(project: ProjectView, framework: Framework | null): string | null {
  if (project.scripts.has('build')) return 'package.json has a script "build"';
  if (framework !== null) return `it uses ${framework.name}`;
  return pageNeedsBuild(project) ? 'index.html loads TypeScript or JSX' : null;
}

function versionOf(project: ProjectView, { packages }: Framework): string | null {
  const name = packages.find((one) => project.packages.has(one));
  return name === undefined ? null : project.version(name);
}

function versionProblems(
  project: ProjectView,
  known: Detection['framework'],
  framework: Framework | null,
  decision: Decision | null,
): string[] {
  const problems: string[] = [];
  const oldest = framework?.oldest;
  if (oldest !== undefined && known?.version != null && decision?.kind !== 'static' && majorOf(known.version) < oldest)
    problems.push(
      `${known.name} ${known.version} is not supported: ${oldest} is the oldest version that is. Upgrade it, or make a site of files with it (kind: static)`,
    );
  const vite = project.dependsOn(vitePluginPackage) ? project.version('vite') : null;
  if (vite !== null && majorOf(vite) < 8)
    problems.push(
      `Vite ${vite} is not supported: ${vitePluginPackage} needs Vite 8 or later. Set "vite" to "^8.0.0" in package.json`,
    );
  return problems;
}

/** `0.x` counts as new, since its numbers have no meaning. */
function majorOf(version: string): number {
  const major = Number.parseInt(version, 10);
  return major === 0 ? Number.POSITIVE_INFINITY : major;
}

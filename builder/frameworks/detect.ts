// What a project's files say of how it is made, built and run: the one place that knows. Pure: it reads names and
// texts (project-files.ts), before or after a build, and runs nothing. Called by builder/steps/, by the rest of
// frameworks/, and by the commands build, deploy, dev and init.
import path from 'node:path';
import { inspectRepository } from '#core/config/workspace.ts';
import { decideKind, vitePluginPackage, type Decision, type Kind } from './kinds.ts';
import { exportsHandler, nodeServerOf } from './node-server.ts';
import { managerOf, runCommand, type Manager } from './packages.ts';
import { isLoadedByPage, pageNeedsBuild } from './pages.ts';
import type { ProjectFiles } from './project-files.ts';
import { openProject, type ProjectView } from './project-view.ts';
import { entryCandidates, frameworks, type DevProgram, type Framework } from './table.ts';

/** What was found out of a project. Paths are relative to its folder. */
export interface Detection {
  /** Null: none that is known. `version` is null where the files do not tell it. */
  readonly framework: { readonly id: string; readonly name: string; readonly version: string | null } | null;
  /** What shows the framework; '' without one. */
  readonly because: string;
  /** Null: the files do not tell; whether there is a worker is seen after the build. */
  readonly kind: Kind | null;
  /** Whether the framework, or a server, decides it: what lies among the sources is not looked at then. */
  readonly isKindDecided: boolean;
  /** What decides the kind, for the log; '' without one. */
  readonly kindBecause: string;
  /** Command that builds it, in its folder; null: none is needed, or known. */
  readonly build: string | null;
  /** Why it is that command. */
  readonly buildBecause: string;
  /** What shows that it has to be built before anything is served; null: nothing. */
  readonly mustBuild: string | null;
  /** Whether there is a package.json. */
  readonly hasPackages: boolean;
  /** Whether its script `build` is `platform build`: the bundler does what it would. */
  readonly isSelfBuilt: boolean;
  /** Said where the script `build` is not run; null: nothing. */
  readonly skipped: string | null;
  /** The worker: a source of the project, or what its build makes; null: the build's output tells. */
  readonly main: string | null;
  /** Whether {@link main} is made by the build. */
  readonly isMainBuilt: boolean;
  /** Folders with the files for browsers, the most likely first; `*` stands for one folder. */
  readonly out: readonly string[];
  /** Command that starts the built server; of `ssr` alone. */
  readonly start: string | null;
  /** The framework's own dev server; null: it has none, or `platform dev` serves the project itself. */
  readonly dev: DetectedDev | null;
  readonly manager: Manager;
  /** Where dependencies are installed, relative to the repository. */
  readonly installFolder: string;
  readonly monorepo: { readonly isOne: boolean; readonly indicators: readonly string[] };
  /** What keeps it from being built as it is, each with what to change; empty: nothing is known. */
  readonly problems: readonly string[];
}

/** How the framework's dev server is started: {@link devCommand} puts port and host behind it. */
export interface DetectedDev extends DevProgram {
  /** Whether words behind the command reach the program as they are (npm wants `--` before them). */
  readonly separator: '' | '--';
}

/** Such a script would call us again. */
const OWN_BUILD = /(?:^|[\s;&|/])platform build\b/;
const OWN_DEV = /(?:^|[\s;&|/])platform dev\b/;
/** Where `start` is a dev server, as starters of Angular, Docusaurus, Qwik and Create React App have it. */
const DEV_START =
  /^(?:\w+=\S+ )*(?:npx )?(?:ng serve|react-scripts start|docusaurus start|ember serve|vite(?: (?:dev|serve|-.*))?$|(?:next|nuxt|nuxi|astro|nitro|vinext|react-router|gatsby|platform) dev(?:elop)?\b)/;

/**
 * Looks at a project.
 *
 * @param files the repository's, or those of the folder alone
 * @param folder the project's, relative to the repository
 * @example detect(filesIn('/srv/app')).framework?.name // 'Nuxt'
 */
export function detect(files: ProjectFiles, folder = '.'): Detection {
  const project = openProject(files, folder);
  const place = placeOf(files, folder);
  const { framework, problem } = frameworkOf(project);
  const entry = entryOf(project, framework);
  const decision = decide(project, framework, entry);
  const isWorker = entry !== null && decision?.main === undefined;
  const { build, buildBecause, skipped } = buildOf(project, place.manager, framework, decision, isWorker);
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
    isSelfBuilt: OWN_BUILD.test(project.scripts.get('build') ?? ''),
    mustBuild: mustBuildOf(project, framework),
    main: decision?.main ?? (decision?.kind === 'dynamic' || decision === null ? entry : null),
    isMainBuilt: decision?.main !== undefined,
    out: decision?.out ?? framework?.out ?? [],
    start: decision?.kind === 'ssr' ? startOf(project, place.manager, decision) : null,
    dev: devOf(project, place.manager, framework),
    ...place,
    problems: [problem, decision?.problem ?? null, ...versionProblems(project, known, framework, decision)].filter(
      (text) => text !== null,
    ),
  };
}

/** Whether the Vite plugin of the platform is among the packages of a project, or of a folder above it. */
export function usesVitePlugin(files: ProjectFiles): boolean {
  return openProject(files, '.').dependsOn(vitePluginPackage);
}

/** Whether a source is what the browser starts at, and no worker: the page loads it, or its framework has it there. */
export function isBrowserEntry(files: ProjectFiles, file: string): boolean {
  const project = openProject(files, '.');
  return isForBrowsers(project, frameworkOf(project).framework, file);
}

/**
 * The command of the framework's dev server on a port.
 *
 * @example devCommand(dev, { port: 3001, host: '127.0.0.1' }) // 'npm run dev -- --port 3001 --host 127.0.0.1'
 */
export function devCommand(dev: DetectedDev, { port, host }: { readonly port: number; readonly host: string }): string {
  const { command, separator, flags } = dev;
  if (flags === null) return command;
  return [command, separator, flags.port, port, flags.host, host].filter((word) => word !== '').join(' ');
}

function isForBrowsers(project: ProjectView, framework: Framework | null, file: string): boolean {
  if (file.startsWith('src/') && framework?.id === 'create-react-app') return true;
  return isLoadedByPage(project, file);
}

/** Which package manager installs, and where: in a monorepo at its root, unless there is nothing to install there. */
function placeOf(files: ProjectFiles, folder: string): Pick<Detection, 'manager' | 'installFolder' | 'monorepo'> {
  const names = files.names('.');
  const manifest = files.text('package.json');
  const { monorepo: isOne, indicators } = inspectRepository({
    paths: names.includes('.moon') ? [...names, ...files.names('.moon').map((name) => `.moon/${name}`)] : names,
    texts: manifest === null ? {} : { 'package.json': manifest },
  });
  const installFolder = isOne && manifest !== null ? '.' : folder;
  const own = files.text(path.posix.join(installFolder, 'package.json'));
  const manager = managerOf(files.names(installFolder), own);
  return { manager, installFolder, monorepo: { isOne, indicators } };
}

function frameworkOf(project: ProjectView): { framework: Framework | null; problem: string | null } {
  const found = frameworks.filter(
    ({ packages, files = [] }) =>
      packages.some((name) => project.packages.has(name)) || files.some((file) => project.has(file)),
  );
  const [first = null] = found;
  const rivals = found.filter(({ isTool, id }) => isTool !== true && !(first?.covers ?? []).includes(id));
  if (rivals.length < 2) return { framework: first, problem: null };
  const configured = rivals.filter(({ config = [] }) => config.some((name) => hasConfig(project, name)));
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

function hasConfig(project: ProjectView, name: string): boolean {
  return project.has(name) || project.config(name) !== '';
}

/** A worker among the sources. Frameworks that make their own have none there. */
function entryOf(project: ProjectView, framework: Framework | null): string | null {
  if (framework !== null && framework.isTool !== true && decideKind[framework.id] !== undefined) return null;
  return (
    entryCandidates.find((file) => project.text(file) !== null && !isForBrowsers(project, framework, file)) ?? null
  );
}

/** A decision with whether the sources have no say in it. */
type FinalDecision = Decision & { readonly isDecided?: true };

function decide(project: ProjectView, framework: Framework | null, entry: string | null): FinalDecision | null {
  const server = nodeServerOf(project, startScript(project));
  const isWorker = entry !== null && (server === null || exportsHandler(project.text(entry) ?? ''));
  if (isWorker) return { kind: 'dynamic', because: `there is a worker, ${entry}` };
  const rule = framework === null ? undefined : decideKind[framework.id];
  if (rule !== undefined) return { ...rule(project), isDecided: true };
  if (framework !== null && framework.isTool !== true)
    return { kind: 'static', because: `${framework.name} makes files`, isDecided: true };
  if (server !== null) return { kind: 'ssr', because: `its script "start" runs a server (${server})`, isDecided: true };
  if (framework?.id === 'vite') return { kind: 'static', because: 'Vite makes files, and there is no worker' };
  if (project.text('index.html') !== null && framework === null && mustBuildOf(project, null) === null)
    return { kind: 'static', because: 'there is an index.html, and no worker' };
  return null;
}

function buildOf(
  project: ProjectView,
  manager: Manager,
  framework: Framework | null,
  decision: Decision | null,
  isWorker: boolean,
): Pick<Detection, 'build' | 'buildBecause' | 'skipped'> {
  const nothing = { build: null, buildBecause: '', skipped: null };
  const script = project.scripts.get('build');
  const isOwn = script !== undefined && OWN_BUILD.test(script);
  if (script !== undefined && !isOwn && (!isWorker || framework !== null))
    return { build: runCommand(manager, 'build'), buildBecause: 'package.json has a script "build"', skipped: null };
  if (script !== undefined && !isOwn)
    return {
      ...nothing,
      skipped:
        'The script "build" of package.json is not run, since the worker is bundled from its sources: add "build" to platform.yaml if it has to',
    };
  if (framework === null || framework.build === null) return nothing;
  const buildsWorker = framework.id === 'nitro' || (framework.id === 'vite' && project.dependsOn(vitePluginPackage));
  if (!buildsWorker && (isWorker || (framework.isTool === true && decision?.kind !== 'static'))) return nothing;
  const own = framework.build;
  const [named] = [...project.scripts].find(([, text]) => text.startsWith(own)) ?? [];
  return {
    build: named === undefined ? own : runCommand(manager, named),
    buildBecause: named === undefined ? `what ${framework.name} is built with` : `the script "${named}" runs ${own}`,
    skipped: null,
  };
}

function mustBuildOf(project: ProjectView, framework: Framework | null): string | null {
  if (project.scripts.has('build')) return 'package.json has a script "build"';
  if (framework !== null) return `it uses ${framework.name}`;
  return pageNeedsBuild(project) ? 'index.html loads TypeScript or JSX' : null;
}

function startOf(project: ProjectView, manager: Manager, { start }: Decision): string | null {
  const name = startScript(project);
  return name === null ? (start ?? null) : runCommand(manager, name);
}

/** The script that starts what was built. NestJS calls it `start:prod`. */
function startScript({ scripts }: ProjectView): string | null {
  return ['start:prod', 'start'].find((name) => scripts.has(name) && !DEV_START.test(scripts.get(name)!)) ?? null;
}

/** The project's script, else the framework's own command. */
function devOf(project: ProjectView, manager: Manager, framework: Framework | null): DetectedDev | null {
  const own = framework?.dev ?? null;
  const named = ['dev', 'start:dev', 'start'].find((name) => {
    const text = project.scripts.get(name);
    return text !== undefined && !OWN_DEV.test(text) && (name !== 'start' || DEV_START.test(text));
  });
  if (named === undefined) return own === null ? null : { ...own, separator: '' };
  const text = project.scripts.get(named)!;
  // Of a script that runs another program first, nothing is known: it reads PORT and HOST, or it does not.
  const isPlain = own !== null && text.startsWith(own.command.split(' ')[0]!) && !/[;&|]/.test(text);
  return {
    command: runCommand(manager, named),
    port: own?.port ?? 3000,
    flags: isPlain ? own.flags : null,
    separator: manager.name === 'npm' ? '--' : '',
  };
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

/** `0.x` counts as new: its numbers say nothing. */
function majorOf(version: string): number {
  const major = Number.parseInt(version, 10);
  return major === 0 ? Number.POSITIVE_INFINITY : major;
}

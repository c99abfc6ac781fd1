// The build, start and dev commands of a project: its own scripts, otherwise the commands of its framework. Pure.
// Called by detect.ts, and by builder/ssr/ for the start command.
import { vitePluginPackage, type Decision } from './kinds.ts';
import { runCommand, type Manager } from './packages.ts';
import type { ProjectView } from './project-view.ts';
import { siteFolder } from './configured-output.ts';
import type { DevProgram, Framework } from './table.ts';

/** The command of the framework's dev server; {@link devCommand} appends port and host. */
export interface DetectedDev extends DevProgram {
  /** Whether arguments are appended directly (npm requires `--` before them). */
  readonly separator: '' | '--';
}

/** Monorepo tools that build packages in dependency order. */
export type TaskRunner = 'turbo' | 'nx';

/** A script that calls `platform build` would run recursively. */
const OWN_BUILD = /(?:^|[\s;&|/])platform build\b/;
const OWN_DEV = /(?:^|[\s;&|/])platform dev\b/;
/** Emulators of other platforms: they choose their own port and do not provide our bindings. */
const OTHER_DEV =
  /(?:^|[\s;&|/])(?:wrangler (?:pages )?dev|vercel dev|netlify dev|firebase (?:serve|emulators:start)|sst dev|amplify mock)\b/;
/** Templates in which `start` is a dev server: Angular, Docusaurus, Qwik and Create React App. */
const DEV_START =
  /^(?:\w+=\S+ )*(?:npx )?(?:@[\w-]+\/)?(?:ng serve|react-scripts start|docusaurus start|ember serve|eleventy --serve|vite(?: (?:dev|serve|-.*))?$|(?:next|nuxt|nuxi|astro|nitro|vinext|vinxi|react-router|gatsby|wrangler|platform) dev(?:elop)?\b)/;
/** Matches the call of an installed program in a script, also of a program from a scoped package. */
const BY_RUNNER = /^(?:(?:npx|bunx|pnpm exec|yarn exec) )?(?:@[\w-]+\/)?/;
/** A package name that is safe to use in a command: allowed by npm, without shell metacharacters. */
const PACKAGE_NAME = /^(?:@[\w.-]+\/)?[\w.-]+$/;

/** Whether the script `build` is `platform build`. */
export function isSelfBuilt({ scripts }: ProjectView): boolean {
  return OWN_BUILD.test(scripts.get('build') ?? '');
}

/** The build command of a project, the reason, and a note if its script is not used. */
interface BuildCommand {
  readonly build: string | null;
  readonly buildBecause: string;
  readonly skipped: string | null;
}

/** @param isWorker whether the project is a worker that is bundled from its sources. */
export function buildOf(
  project: ProjectView,
  { manager, runner }: { readonly manager: Manager; readonly runner: TaskRunner | null },
  framework: Framework | null,
  decision: Decision | null,
  isWorker: boolean,
): BuildCommand {
  const nothing = { build: null, buildBecause: '', skipped: null };
  const script = isSelfBuilt(project) ? undefined : project.scripts.get('build');
  if (script !== undefined && isWorker && framework === null)
    return {
      ...nothing,
      skipped:
        'The script "build" of package.json is not run, since the worker is bundled from its sources: add "build" to platform.yaml if it must run',
    };
  if (script !== undefined) return scriptBuild(project, manager, runner);
  if (framework === null || framework.build === null) return nothing;
  const buildsWorker = framework.id === 'nitro' || (framework.id === 'vite' && project.dependsOn(vitePluginPackage));
  if (!buildsWorker && (isWorker || (framework.isTool === true && decision?.kind !== 'static'))) return nothing;
  const own = framework.build;
  const [named] = [...project.scripts].find(([, text]) => text.replace(BY_RUNNER, '').startsWith(own)) ?? [];
  return {
    build: named === undefined ? inSiteFolder(own, project, framework) : runCommand(manager, named),
    buildBecause: named === undefined ? `what ${framework.name} is built with` : `the script "${named}" runs ${own}`,
    skipped: null,
  };
}

/** The command that runs the script `build`. If the project uses packages of its repository, they are built first. */
function scriptBuild(project: ProjectView, manager: Manager, runner: TaskRunner | null): BuildCommand {
  const build = runCommand(manager, 'build');
  const name = project.name ?? '';
  if (runner === null || !usesWorkspace(project) || !PACKAGE_NAME.test(name))
    return { build, buildBecause: 'package.json has a script "build"', skipped: null };
  const buildBecause = `package.json has a script "build", and ${runner} builds the packages of the repository that it uses`;
  // Turbo hides variables that turbo.json does not list, but adapters are passed by variables: so Turbo does not build
  // the project itself. Nx passes such variables, but its cache does not depend on them.
  if (runner === 'turbo')
    return { build: `turbo run build --filter=${name}^... && ${build}`, buildBecause, skipped: null };
  return { build: `nx build ${name} --skip-nx-cache`, buildBecause, skipped: null };
}

/** Whether the project depends on another package of its repository, in the notation of pnpm, Yarn, Bun or npm. */
function usesWorkspace({ packages }: ProjectView): boolean {
  return [...packages.values()].some((range) => range === '*' || range.startsWith('workspace:'));
}

/**
 * The command that starts the built server; null if unknown.
 *
 * @example startCommand(openProject(files, '.'), null) // 'node server.js'
 */
export function startCommand(project: ProjectView, decision: Decision | null): string | null {
  const name = startScript(project);
  return name === null ? (decision?.start ?? null) : project.scripts.get(name)!;
}

/**
 * The shell command that starts the built server: runs the start script, or the framework's own command; null if
 * unknown.
 */
export function startOf(project: ProjectView, manager: Manager, { start }: Decision): string | null {
  const name = startScript(project);
  return name === null ? (start ?? null) : runCommand(manager, name);
}

/** The script that starts the built server. NestJS calls it `start:prod`. */
export function startScript({ scripts }: ProjectView): string | null {
  return ['start:prod', 'start'].find((name) => scripts.has(name) && !DEV_START.test(scripts.get(name)!)) ?? null;
}

/** The project's script, otherwise the framework's own command. */
export function devOf(project: ProjectView, manager: Manager, framework: Framework | null): DetectedDev | null {
  const own = framework?.dev ?? null;
  const named =
    ['dev', 'start:dev', 'start'].find((name) => {
      const text = project.scripts.get(name);
      return (
        text !== undefined && !OWN_DEV.test(text) && !OTHER_DEV.test(text) && (name !== 'start' || DEV_START.test(text))
      );
    }) ??
    [...project.scripts].find(([, text]) => own !== null && text.replace(BY_RUNNER, '').startsWith(own.command))?.[0];
  if (named === undefined)
    return own === null ? null : { ...own, command: inSiteFolder(own.command, project, framework), separator: '' };
  const text = project.scripts.get(named)!.replace(BY_RUNNER, '');
  // A script that runs another program first is opaque: it may or may not read PORT and HOST.
  const isPlain = own !== null && text.startsWith(own.command.split(' ')[0]!) && !/[;&|]/.test(text);
  return {
    command: runCommand(manager, named),
    port: own?.port ?? 3000,
    flags: isPlain ? own.flags : null,
    separator: manager.name === 'npm' ? '--' : '',
  };
}

/** A command of a framework whose site may be in a subfolder of the project. */
function inSiteFolder(command: string, project: ProjectView, framework: Framework | null): string {
  const folder = framework === null ? null : siteFolder(project, framework);
  return folder === null ? command : `${command} ${folder}`;
}

/**
 * The command of the framework's dev server for a port.
 *
 * @example devCommand(dev, { port: 3001, host: '127.0.0.1' }) // 'npm run dev -- --port 3001 --host 127.0.0.1'
 */
export function devCommand(dev: DetectedDev, { port, host }: { readonly port: number; readonly host: string }): string {
  const { command, separator, flags } = dev;
  if (flags === null) return command;
  const words = [command, separator, flags.port, port, ...(flags.host === null ? [] : [flags.host, host])];
  return words.filter((word) => word !== '').join(' ');
}

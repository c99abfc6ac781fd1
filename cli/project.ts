// The project a command works on: finds and reads its platform.yaml, and builds it. The commands build, deploy, dev, start and
// types share this, so that all of them see the same project.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { codeFrame } from '#core/code-frame.ts';
import { formatProblem, hasErrors, type Problem } from '#core/problem.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/project-config.ts';
import { inspectRepository } from '#core/workspace.ts';
import type { Artifact } from '#builder/artifact.ts';
import { build } from '#builder/build.ts';
import type { Bundle } from '#builder/bundle.ts';
import { CliError } from './failure.ts';
import type { Shell } from './shell.ts';

const configNames = ['platform.yaml', 'platform.yml'];

/** A project on this disk. */
export interface Project {
  /** Folder of the configuration file, or the folder itself without one; absolute. */ readonly folder: string;
  /** Absolute path; null: everything has its default. */ readonly configFile: string | null;
  readonly config: ProjectConfig;
}

/** The errors of a configuration file as one failure. */
export class ConfigError extends Error {
  readonly errors: readonly CliError[];

  constructor(errors: readonly CliError[]) {
    super(errors.map((error) => error.message).join('\n'));
    this.name = 'ConfigError';
    this.errors = errors;
  }
}

/**
 * Reads the project in a folder; warnings go to the shell's standard error.
 *
 * @param configFlag path of the configuration file, relative to the shell's folder; null looks for `platform.yaml`.
 * @throws {ConfigError} with every error of the file, its place and a code frame.
 */
export function loadProject(shell: Shell, folder: string, configFlag: string | null): Project {
  const found =
    configFlag === null
      ? configNames.map((name) => path.join(folder, name)).find((file) => existsSync(file))
      : path.resolve(shell.cwd, configFlag);
  if (found === undefined) {
    if (!existsSync(folder)) throw new CliError(`There is no folder ${folder}`);
    return { folder, configFile: null, config: parseProjectConfig('', { file: 'platform.yaml' }).config! };
  }
  let text: string;
  try {
    text = readFileSync(found, 'utf8');
  } catch (error) {
    throw new CliError(`The configuration file ${found} cannot be read: ${(error as Error).message}`, {
      exitCode: configFlag === null ? 1 : 2,
    });
  }
  const name = path.relative(shell.cwd, found);
  const { config, problems } = parseProjectConfig(text, { file: name.startsWith('..') ? found : name });
  for (const problem of problems) if (problem.severity === 'warning') shell.err(shell.paint('yellow', formatProblem(problem)));
  if (config === null || hasErrors(problems)) {
    const errors = problems.filter((problem) => problem.severity === 'error').toSorted((a, b) => a.line - b.line);
    throw new ConfigError(errors.map((problem) => toCliError(problem, text)));
  }
  return { folder: path.dirname(found), configFile: found, config };
}

/** A problem as an error of the command line, with a code frame. @param text the file it is in. */
export function toCliError({ message, file, line, column, hint }: Problem, text: string): CliError {
  return new CliError(message, { file, line, column, frame: codeFrame(text, line, column), advice: hint ?? null });
}

/** The package of the agent library: a project that depends on it wants its bindings (spec 2.2). */
export const agentPackage = '@platform-run/agent';

/** Whether a project depends on the agent library without saying anything of `agentSDK` in its configuration. */
export function lacksAgentFlag({ folder, configFile }: Project): boolean {
  const file = path.join(folder, 'package.json');
  if (configFile === null || !existsSync(file)) return false;
  let manifest: { dependencies?: Record<string, string>; devDependencies?: Record<string, string> };
  try {
    manifest = JSON.parse(readFileSync(file, 'utf8')) as typeof manifest;
  } catch {
    return false;
  }
  const depends = manifest.dependencies?.[agentPackage] !== undefined || manifest.devDependencies?.[agentPackage] !== undefined;
  return depends && !/^["']?agentSDK["']?\s*:/m.test(readFileSync(configFile, 'utf8'));
}

/**
 * The workspace a project belongs to: the nearest folder above that is a monorepo's root, no further than its Git repository;
 * else the project's own folder.
 */
export function workspaceFolder(folder: string): string {
  for (let at = folder; ; at = path.dirname(at)) {
    const names = existsSync(at) ? readdirSync(at) : [];
    const file = path.join(at, 'package.json');
    const texts = names.includes('package.json') ? { 'package.json': readFileSync(file, 'utf8') } : {};
    // One project file does not make a monorepo; the indicators of a workspace do.
    if (inspectRepository({ paths: names, texts }).monorepo) return at;
    if (names.includes('.git') || path.dirname(at) === at) return folder;
  }
}

/** The repository of a project where it is a workspace, else the project's own folder: what its build may read. */
export function workspaceOf(project: Project): string {
  const workspace = workspaceFolder(project.folder);
  return workspace === project.folder ? projectRoot(project) : workspace;
}

/** What a build says goes to the standard error of the shell. */
export function buildOutput(shell: Shell): { onOutput(text: string): void; onWarning(text: string): void } {
  return {
    onOutput: (text) => shell.err(text.trimEnd()),
    onWarning: (text) => shell.err(shell.paint('yellow', text)),
  };
}

/** A built project. */
export interface Built extends Artifact {
  /** Wall time of the build. */ readonly buildMs: number;
}

/**
 * Builds a project into `<artifacts>/<id>`.
 *
 * @param options.bundle made already by a watch.
 * @param options.made what the build command made, where it has run already.
 * @param options.durable whether it must outlive a power cut.
 * @param options.compress whether assets get compressed forms.
 * @throws {BuildError}
 */
export async function buildProject(
  project: Project,
  artifacts: string,
  options: {
    readonly onOutput?: (text: string) => void;
    readonly onWarning?: (text: string) => void;
    readonly bundle?: Bundle;
    readonly made?: readonly string[] | null;
    readonly durable?: boolean;
    readonly compress?: boolean;
  } = {},
): Promise<Built> {
  const began = performance.now();
  const artifact = await build({
    root: projectRoot(project),
    workspace: workspaceFolder(project.folder),
    config: project.config,
    artifacts,
    ...options,
  });
  return { ...artifact, buildMs: performance.now() - began };
}

/** The folder that `base` names, where the sources lie. */
export function projectRoot({ folder, config }: Project): string {
  return path.resolve(folder, config.base);
}

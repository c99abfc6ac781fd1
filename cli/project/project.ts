// Finds, loads and builds the project of a command. Shared by build, deploy, dev, start and types.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readTextSync } from '#core/text-file.ts';
import { codeFrame } from '#core/code-frame.ts';
import { formatProblem, hasErrors, type Problem } from '#core/problem.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import type { Artifact } from '#builder/build/artifact.ts';
import { build } from '#builder/build/build.ts';
import type { Bundle } from '#builder/bundle/bundle.ts';
import { isInside, realPath } from '#builder/project/containment.ts';
import { projectNameFrom } from '#packages/create/project.ts';
import { whileShown } from '../terminal/elapsed.ts';
import { CliError } from '../terminal/failure.ts';
import { coloured, ownLines } from '../terminal/printed.ts';
import type { Shell } from '../terminal/shell.ts';
import { placeOf, readWorkspaceFile } from './repository.ts';
import { resolveProject } from './resolved-config.ts';

const configNames = ['platform.yaml', 'platform.yml'];

/** A local project. */
export interface Project {
  /** Folder of the configuration file, or the given folder if there is none; absolute. */
  readonly folder: string;
  /** Absolute path; null means all defaults. */
  readonly configFile: string | null;
  readonly config: ProjectConfig;
  /** Source folder: `base` in the repository, else the folder; absolute. */
  readonly root: string;
  /**
   * The repository if it is a workspace, otherwise `root`. Builds can read this folder, and tools are installed in it.
   */
  readonly workspace: string;
}

/** Combines the errors of a configuration file into one. */
function allOf(errors: readonly CliError[]): AggregateError {
  return new AggregateError(errors, errors.map(({ message }) => message).join('\n'));
}

/**
 * Loads the project in a folder; warnings go to standard error.
 *
 * @param configFlag path of the configuration file, relative to the shell's folder; null to search for `platform.yaml`.
 * @throws {AggregateError} with all errors of the file, with locations and code frames.
 */
export function loadProject(shell: Shell, folder: string, configFlag: string | null): Project {
  const found = configFlag === null ? configIn(folder) : path.resolve(shell.cwd, configFlag);
  if (found === undefined) {
    if (!existsSync(folder)) throw new CliError(`Folder ${folder} does not exist`);
    const config = parseProjectConfig('', { file: 'platform.yaml' }).config!;
    return { folder, configFile: null, config, ...sourcesOf(folder, config, null) };
  }
  if (configFlag === null) refuseOutside(found);
  let text: string;
  try {
    text = readTextSync(found);
  } catch (error) {
    throw new CliError(`Could not read the configuration file ${found}: ${(error as Error).message}`, {
      exitCode: configFlag === null ? 1 : 2,
    });
  }
  const name = path.relative(shell.cwd, found);
  const { config, problems } = parseProjectConfig(text, { file: name.startsWith('..') ? found : name });
  for (const problem of problems)
    if (problem.severity === 'warning') shell.err(shell.paint('yellow', formatProblem(problem)));
  if (config === null || hasErrors(problems)) {
    const errors = problems.filter((problem) => problem.severity === 'error').toSorted((a, b) => a.line - b.line);
    throw allOf(errors.map((problem) => toCliError(problem, text)));
  }
  return {
    folder: path.dirname(found),
    configFile: found,
    config,
    ...sourcesOf(path.dirname(found), config, { name, text }),
  };
}

/** The name a project is deployed as. */
export function nameOf(project: Project, flag?: string): string {
  return flag ?? project.config.name ?? projectNameFrom(project.folder);
}

/** The configuration file in a folder, if any. */
export function configIn(folder: string): string | undefined {
  return configNames.map((name) => path.join(folder, name)).find((file) => existsSync(file));
}

/**
 * Refuses a configuration file that is a symbolic link out of the repository, because errors print lines of the file.
 */
function refuseOutside(file: string): void {
  const real = realPath(file);
  const { repository } = placeOf(path.dirname(file));
  if (real === null || !isInside(realPath(repository) ?? repository, real))
    throw new CliError('This symbolic link points outside the repository', {
      file,
      advice: 'Put the file here, or pass it with --config.',
    });
}

/** @throws {CliError} for the problems of platform-workspace.yaml in a repository. */
export function checkWorkspaceFile(repository: string): void {
  const exclusions = readWorkspaceFile(repository);
  if (exclusions === null) return;
  refuseOutside(exclusions.file);
  if (hasErrors(exclusions.problems))
    throw allOf(exclusions.problems.map((problem) => toCliError(problem, exclusions.text)));
}

/** Source folder and workspace of a project. */
function sourcesOf(
  folder: string,
  { base }: ProjectConfig,
  file: { name: string; text: string } | null,
): Pick<Project, 'root' | 'workspace'> {
  const { repository, workspace } = placeOf(folder);
  checkWorkspaceFile(repository);
  if (file === null || base === '.') return { root: folder, workspace: workspace ?? folder };
  const root = path.resolve(repository, base);
  const real = realPath(root);
  const line = file.text.split('\n').findIndex((text) => /^["']?base["']?\s*:/.test(text)) + 1;
  const fail = (message: string, advice: string): never => {
    throw new CliError(message, {
      file: file.name,
      ...(line > 0 && { line, column: 1, frame: codeFrame(file.text, line, 1) }),
      advice,
    });
  };
  if (real === null) {
    const meant = path.relative(repository, path.join(folder, base));
    const advice = existsSync(path.join(folder, base)) ? `Did you mean "${meant}"? ` : '';
    fail(
      `base: folder ${base} does not exist in the repository ${repository}`,
      `${advice}base is relative to the root of the repository.`,
    );
  } else if (!isInside(realPath(repository)!, real))
    fail(`base: ${base} is outside the repository`, 'Choose a folder in the repository.');
  return { root, workspace: workspace ?? root };
}

/** Converts a problem to a CLI error with a code frame. @param text content of the file. */
export function toCliError({ message, file, line, column, hint }: Problem, text: string): CliError {
  return new CliError(message, { file, line, column, frame: codeFrame(text, line, column), advice: hint ?? null });
}

/** The agent library: projects that depend on it need its bindings (docs/bindings.md). */
export const agentPackage = '@platform-run/agent';

/** Whether a project depends on the agent library without `agentSDK` in its configuration. */
export function lacksAgentFlag({ folder, configFile }: Project): boolean {
  const file = path.join(folder, 'package.json');
  if (configFile === null || !existsSync(file)) return false;
  let manifest: { dependencies?: Record<string, string>; devDependencies?: Record<string, string> };
  try {
    manifest = JSON.parse(readTextSync(file)) as typeof manifest;
  } catch {
    return false;
  }
  const depends =
    manifest.dependencies?.[agentPackage] !== undefined || manifest.devDependencies?.[agentPackage] !== undefined;
  return depends && !/^["']?agentSDK["']?\s*:/m.test(readTextSync(configFile));
}

/** Whether a project calls models; false for an invalid configuration, which is reported elsewhere. */
export function wantsAi(load: () => Project): boolean {
  try {
    return load().config.ai;
  } catch {
    return false;
  }
}

/** Forwards build output to standard error. */
function buildOutput(shell: Shell): { onOutput(text: string): void; onWarning(text: string): void } {
  return {
    onOutput: (text) => shell.err(ownLines(coloured(text.trimEnd(), shell.isTerminal))),
    onWarning: (text) => shell.err(shell.paint('yellow', text)),
  };
}

/** A built project. */
export interface Built extends Artifact {
  /** Wall time of the build. */
  readonly buildMs: number;
}

/**
 * Builds a project into `<artifacts>/<id>`.
 *
 * @param options.bundle existing bundle of a watch.
 * @param options.made folders created by the build command, if it has already run.
 * @param options.durable whether the artifact must survive a power failure.
 * @param options.keepsFreeBytes disk space to keep free.
 * @param options.compress whether to precompress assets.
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
    readonly keepsFreeBytes?: number;
    readonly compress?: boolean;
  } = {},
): Promise<Built> {
  const began = performance.now();
  const { config } = options.made === undefined ? resolveProject(project, options.onOutput) : project;
  const artifact = await build({
    root: project.root,
    workspace: project.workspace,
    config,
    artifacts,
    ...options,
  });
  return { ...artifact, buildMs: performance.now() - began };
}

/**
 * Builds a project for a command: shows the seconds it takes, and its output on standard error.
 *
 * @param options the options of {@link buildProject}.
 * @throws {BuildError}
 */
export function buildHere(
  shell: Shell,
  project: Project,
  artifacts: string,
  options: { readonly durable?: boolean; readonly keepsFreeBytes?: number } = {},
): Promise<Built> {
  return whileShown(shell, 'Building', () => buildProject(project, artifacts, { ...buildOutput(shell), ...options }));
}

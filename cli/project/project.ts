// The project a command works on: finds and reads its platform.yaml, and builds it. The commands build, deploy, dev,
// start and types share this, so that all of them see the same project.
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
import { CliError } from '../terminal/failure.ts';
import { coloured, ownLines } from '../terminal/printed.ts';
import type { Shell } from '../terminal/shell.ts';
import { placeOf, readWorkspaceFile } from './repository.ts';
import { settleProject } from './settled.ts';

const configNames = ['platform.yaml', 'platform.yml'];

/** A project on this disk. */
export interface Project {
  /** Folder of the configuration file, or the folder itself without one; absolute. */
  readonly folder: string;
  /** Absolute path; null: everything has its default. */
  readonly configFile: string | null;
  readonly config: ProjectConfig;
  /** Where its sources lie: `base` in the repository, else the folder; absolute. */
  readonly root: string;
  /** The repository where it is a workspace, else `root`: what a build may read, and where tools are installed. */
  readonly workspace: string;
}

/** The errors of a configuration file as one failure. */
class ConfigError extends Error {
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
  const found = configFlag === null ? configIn(folder) : path.resolve(shell.cwd, configFlag);
  if (found === undefined) {
    if (!existsSync(folder)) throw new CliError(`There is no folder ${folder}`);
    const config = parseProjectConfig('', { file: 'platform.yaml' }).config!;
    return { folder, configFile: null, config, ...sourcesOf(folder, config, null) };
  }
  if (configFlag === null) refuseOutside(found);
  let text: string;
  try {
    text = readTextSync(found);
  } catch (error) {
    throw new CliError(`The configuration file ${found} cannot be read: ${(error as Error).message}`, {
      exitCode: configFlag === null ? 1 : 2,
    });
  }
  const name = path.relative(shell.cwd, found);
  const { config, problems } = parseProjectConfig(text, { file: name.startsWith('..') ? found : name });
  for (const problem of problems)
    if (problem.severity === 'warning') shell.err(shell.paint('yellow', formatProblem(problem)));
  if (config === null || hasErrors(problems)) {
    const errors = problems.filter((problem) => problem.severity === 'error').toSorted((a, b) => a.line - b.line);
    throw new ConfigError(errors.map((problem) => toCliError(problem, text)));
  }
  return {
    folder: path.dirname(found),
    configFile: found,
    config,
    ...sourcesOf(path.dirname(found), config, { name, text }),
  };
}

/** The configuration file in a folder; undefined where there is none. */
export function configIn(folder: string): string | undefined {
  return configNames.map((name) => path.join(folder, name)).find((file) => existsSync(file));
}

/**
 * A link may stand for a configuration elsewhere in the repository, not for any file: its lines are shown where it is
 * wrong.
 */
function refuseOutside(file: string): void {
  const real = realPath(file);
  const { repository } = placeOf(path.dirname(file));
  if (real === null || !isInside(realPath(repository) ?? repository, real))
    throw new CliError('This is a link that leads out of the repository', {
      file,
      advice: 'Put the file itself here, or name it with --config.',
    });
}

/** Where the sources of a project lie, and what of the repository belongs to it. */
function sourcesOf(
  folder: string,
  { base }: ProjectConfig,
  file: { name: string; text: string } | null,
): Pick<Project, 'root' | 'workspace'> {
  const { repository, workspace } = placeOf(folder);
  const exclusions = readWorkspaceFile(repository);
  if (exclusions !== null) refuseOutside(exclusions.file);
  if (exclusions !== null && hasErrors(exclusions.problems))
    throw new ConfigError(exclusions.problems.map((problem) => toCliError(problem, exclusions.text)));
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
      `base: there is no folder ${base} in the repository ${repository}`,
      `${advice}base is relative to the root of the repository.`,
    );
  } else if (!isInside(realPath(repository)!, real))
    fail(`base: ${base} leads out of the repository`, 'Name a folder of the repository itself.');
  return { root, workspace: workspace ?? root };
}

/** A problem as an error of the command line, with a code frame. @param text the file it is in. */
export function toCliError({ message, file, line, column, hint }: Problem, text: string): CliError {
  return new CliError(message, { file, line, column, frame: codeFrame(text, line, column), advice: hint ?? null });
}

/** The package of the agent library: a project that depends on it wants its bindings (docs/bindings.md). */
export const agentPackage = '@platform-run/agent';

/** Whether a project depends on the agent library without saying anything of `agentSDK` in its configuration. */
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

/** Whether a project calls models. A configuration that cannot be read is reported elsewhere. */
export function wantsAi(load: () => Project): boolean {
  try {
    return load().config.ai;
  } catch {
    return false;
  }
}

/** What a build says goes to the standard error of the shell. */
export function buildOutput(shell: Shell): { onOutput(text: string): void; onWarning(text: string): void } {
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
 * @param options.bundle made already by a watch.
 * @param options.made what the build command made, where it has run already.
 * @param options.durable whether it must outlive a power cut.
 * @param options.keepsFreeBytes what of the disk stays free.
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
    readonly keepsFreeBytes?: number;
    readonly compress?: boolean;
  } = {},
): Promise<Built> {
  const began = performance.now();
  const { config } = options.made === undefined ? settleProject(project, options.onOutput) : project;
  const artifact = await build({
    root: project.root,
    workspace: project.workspace,
    config,
    artifacts,
    ...options,
  });
  return { ...artifact, buildMs: performance.now() - began };
}

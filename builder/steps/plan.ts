// Plans a build from a checkout: its configuration by precedence (platform.yaml, the project's settings, detection),
// the folders by the monorepo rules, and log lines with the reasons. Called by run-build.ts. Reads the checkout before
// any of its code has run.
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import { inspectRepository, workspaceFileName, type Workspace } from '#core/config/workspace.ts';
import type { Failure } from '#core/failure.ts';
import { fixedLimits } from '#core/limits.ts';
import { hasErrors, type Problem } from '#core/problem.ts';
import { decodeText, isUtf16 } from '#core/text-file.ts';
import { BuildError } from '../project/build-error.ts';
import { detect, type Detection } from '../frameworks/detect.ts';
import { nodeRequestOf, type NodeRequest } from '../frameworks/node-version.ts';
import type { Manager } from '../frameworks/packages.ts';
import { filesIn } from '../frameworks/project-files.ts';
import { resolveConfig } from '../frameworks/resolve-config.ts';
import { withLibrary, type AskLibrary } from './library.ts';
import { buildFailure, type BuildRequest, type BuildSettings } from './types.ts';

/** A plan. */
export interface BuildPlan {
  readonly config: ProjectConfig;
  /** Folder of the project, absolute: the build command runs here. */
  readonly root: string;
  /** The repository for a monorepo, otherwise {@link root}. */
  readonly workspace: string;
  /** Absolute path of the folder in which dependencies are installed. */
  readonly installFolder: string;
  readonly manager: Manager;
  /** The Node version requested by the project; null means any. */
  readonly node: NodeRequest | null;
  readonly detected: Detection;
  /** Install command of the project's settings, if set. */
  readonly installCommand: string | null;
}

const CONFIG_NAMES = ['platform.yaml', 'platform.yml'] as const;
const MANIFEST_BYTES_MAX = 5 * 1024 * 1024;

/**
 * @param source root of the checkout @param paths its files
 * @throws {Failure} `build`: `configuration_invalid` with the invalid lines; `not_supported`.
 */
export async function planBuild(
  request: BuildRequest,
  source: string,
  paths: readonly string[],
  ask: AskLibrary,
): Promise<BuildPlan> {
  const say = (level: 'info' | 'warn', text: string): void => request.onLine('clone', level, text);
  const repository = await readRepository(source, paths);
  reportProblems(repository.problems, say);
  const { config: written, folder, file } = await readConfig(request, source, repository, say);
  const base = written.base === '.' ? folder : written.base;
  await checkFolder(source, base, written.base === '.' ? null : file);
  const root = path.join(source, base);
  const workspace = repository.monorepo ? source : root;
  if (repository.monorepo) say('info', `Monorepo (${repository.indicators.slice(0, 5).join(', ')})`);
  const needsCommand = written.build === null && filled(request.settings.buildCommand) === null;
  const own = repository.monorepo ? detect(filesIn(source), base) : detect(filesIn(root));
  const detected = await withLibrary(own, root, needsCommand ? ask : null);
  const config = settled(written, request.settings, detected, say);
  if (config.kind === 'ssr' && request.noServers != null) throw buildFailure('servers_refused', request.noServers);
  return {
    config,
    root,
    workspace,
    installFolder: path.join(workspace, detected.installFolder),
    manager: detected.manager,
    node: await nodeOf(root, workspace),
    detected,
    installCommand: filled(request.settings.installCommand),
  };
}

/** The value found in the project's folder, otherwise the value found in the repository's root. */
async function nodeOf(root: string, workspace: string): Promise<NodeRequest | null> {
  for (const folder of new Set([root, workspace])) {
    const asked = await nodeRequestOf((name) => readLimited(path.join(folder, name), MANIFEST_BYTES_MAX));
    if (asked !== null) return asked;
  }
  return null;
}

/** Applies the monorepo rules to the file list. */
async function readRepository(source: string, paths: readonly string[]): Promise<Workspace> {
  const texts: Record<string, string> = {};
  for (const name of ['package.json', workspaceFileName]) {
    const text = await readLimited(path.join(source, name), MANIFEST_BYTES_MAX);
    if (text !== null) texts[name] = text;
  }
  return inspectRepository({ paths, texts });
}

async function readConfig(
  request: BuildRequest,
  source: string,
  repository: Workspace,
  say: (level: 'info' | 'warn', text: string) => void,
): Promise<{ config: ProjectConfig; folder: string; file: string | null }> {
  const folder = configFolder(request.configPath);
  for (const name of CONFIG_NAMES) {
    const file = path.posix.join(folder, name);
    const text = await readLimited(path.join(source, file), fixedLimits.projectFileBytesMax);
    if (text === null) continue;
    const { config, problems } = parseProjectConfig(text, { file });
    reportProblems(problems, say);
    if (config === null) throw invalid(problems);
    return { config, folder, file };
  }
  const { config } = parseProjectConfig('', { file: CONFIG_NAMES[0] });
  if (folder !== '.') await checkFolder(source, folder, null);
  const others = repository.projectFiles.filter((file) => path.posix.dirname(file) !== folder);
  const where = folder === '.' ? 'There is no platform.yaml' : `There is no platform.yaml in ${folder}`;
  const hint = others.length === 0 ? '' : ` (there is one in ${others.slice(0, 3).map(path.posix.dirname).join(', ')})`;
  say('info', `${where}${hint}: the build is derived from the files`);
  return { config: config!, folder, file: null };
}

/** If the setting is the path of a platform.yaml, the folder of that file is used. */
function configFolder(configPath: string): string {
  const plain = path.posix.normalize(configPath === '' ? '.' : configPath).replace(/\/+$/, '');
  if (plain.startsWith('/') || plain === '..' || plain.startsWith('../') || plain.includes('\0'))
    throw buildFailure('configuration_invalid', 'The project folder must be inside the repository');
  return /(?:^|\/)platform\.ya?ml$/.test(plain) ? path.posix.dirname(plain) : plain;
}

async function checkFolder(source: string, folder: string, file: string | null): Promise<void> {
  let at = source;
  for (const part of folder.split('/')) {
    at = path.join(at, part);
    const info = await stat(at).catch(() => null);
    if (info?.isDirectory() === true) continue;
    const where = file === null ? '' : `${file}: base: `;
    throw buildFailure('configuration_invalid', `${where}there is no folder ${folder} in the repository`);
  }
}

function settled(
  written: ProjectConfig,
  { buildCommand, outputDirectory }: BuildSettings,
  detected: Detection,
  say: (level: 'info', text: string) => void,
): ProjectConfig {
  const output = filled(outputDirectory);
  const settings = { build: filled(buildCommand), out: output === null ? null : checkedOutput(output) };
  try {
    const { config, said } = resolveConfig(written, settings, detected);
    for (const line of said) say('info', line);
    return config;
  } catch (error) {
    if (error instanceof BuildError) throw buildFailure('not_supported', error.message, { cause: error });
    throw error;
  }
}

/** The settings are validated by the rules of platform.yaml, with the same messages. */
function checkedOutput(output: string): string {
  const { config, problems } = parseProjectConfig(`out: ${JSON.stringify(output)}\n`, { file: 'settings' });
  const [problem] = problems.filter(({ severity }) => severity === 'error');
  if (problem !== undefined)
    throw buildFailure('configuration_invalid', `Output directory in the settings of the project: ${problem.message}`);
  return config!.out!;
}

function reportProblems(problems: readonly Problem[], say: (level: 'warn', text: string) => void): void {
  for (const problem of problems) if (problem.severity === 'warning') say('warn', formatOne(problem));
  if (hasErrors(problems)) throw invalid(problems);
}

function invalid(problems: readonly Problem[]): Failure<'build'> {
  const errors = problems.filter(({ severity }) => severity === 'error').toSorted((a, b) => a.line - b.line);
  return buildFailure('configuration_invalid', errors.map(formatOne).join('\n'));
}

function formatOne({ file, line, column, message, hint }: Problem): string {
  return `${file}:${line}:${column}: ${message}${hint === undefined ? '' : `. ${hint}`}`;
}

function filled(value: string | null): string | null {
  return value === null || value.trim() === '' ? null : value;
}

/** The text of a file; null if it does not exist. The checkout contains no links that lead out. */
export async function readLimited(file: string, bytesMax: number): Promise<string | null> {
  const info = await stat(file).catch(() => null);
  if (info === null || !info.isFile()) return null;
  if (info.size > bytesMax)
    throw buildFailure(
      'configuration_invalid',
      `${path.basename(file)} has ${info.size} bytes; ${bytesMax} are allowed`,
    );
  await using handle = await open(file, 'r');
  const bytes = await handle.readFile();
  const text = isUtf16(bytes) ? decodeText(bytes, path.basename(file)) : new TextDecoder().decode(bytes);
  return text.slice(0, bytesMax);
}

// Runs a project's build command and determines which files it wrote, so that the output of an earlier build is never
// mistaken for its result. Called by build.ts and, in `platform dev`, by the session.
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ProjectConfig } from '#core/config/project-config.ts';
import { BuildError } from '../project/build-error.ts';
import { adapterVariables, clearAdapted } from '../frameworks/adapters.ts';
import { isOutputName, outputCandidates } from '../frameworks/output-folder.ts';
import type { EntryConfig } from '../project/project.ts';
import { writeAiProvider } from '../ssr/ai-provider.ts';
import { runBuildCommand, type CommandOptions } from './build-command.ts';

/** Maximum files compared per folder. */
const FILES_MAX = 200_000;

/** Commands that mean that no build is needed; `kind: static` requires a command. */
const NO_COMMANDS = new Set(['true', ':']);

/**
 * Runs the build command of a project, if it has one.
 *
 * @returns the folders it created or changed, relative to the root, the most likely output first; null if no command
 * ran. @throws {BuildError} `command_failed`; `assets` if it wrote no files and the existing output is from an earlier
 * build.
 */
export async function runBuild(
  root: string,
  config: EntryConfig & Pick<ProjectConfig, 'ai'>,
  given: CommandOptions & {
    /** Whether the folder is a fresh checkout, so that none of its files are the output of an earlier build. */
    readonly isCheckout?: boolean;
  },
): Promise<readonly string[] | null> {
  const command = config.build;
  if (command === null || NO_COMMANDS.has(command.trim())) return null;
  const options = { ...given, environment: adapterVariables(root, config, given.environment) };
  clearAdapted(root);
  writeAiProvider(root, config);
  const before = stampsOf(root, config);
  await runBuildCommand(command, root, options);
  const made = changed(before, stampsOf(root, config));
  const stale = options.isCheckout === true ? null : staleOutput(root, config, before, made);
  if (stale === null) return made;
  // Incremental tools may leave existing output untouched. If the output is moved away, such a tool writes it again,
  // which shows that the tool created it.
  const kept = mkdtempSync(join(root, '.platform-before-'));
  let remade = false;
  try {
    renameSync(join(root, stale), join(kept, 'output'));
    await runBuildCommand(command, root, options);
    remade = stampOf(join(root, stale)) !== null;
    if (remade) return changed(new Map([...before].filter(([path]) => path !== stale)), stampsOf(root, config));
  } finally {
    if (!remade && stampOf(join(root, stale)) === null) renameSync(join(kept, 'output'), join(root, stale));
    rmSync(kept, { recursive: true, force: true });
  }
  throw new BuildError(
    'assets',
    `The build command "${command}" created no output: the files in "${stale}" are older and are not published. ` +
      `Set "out" in platform.yaml to the folder it makes; where there is nothing to build, leave "build" out or say build: "true"`,
  );
}

/** A folder that would be published although the build did not change it, or null. */
function staleOutput(
  root: string,
  config: EntryConfig,
  before: ReadonlyMap<string, string | null>,
  made: readonly string[],
): string | null {
  const isWorker = config.kind !== 'static';
  // Next to a worker, a folder without the name of an output folder contains hand-written files.
  const out = config.out !== null && isWorker && !isOutputName(config.out) ? null : config.out;
  const named = [out, mainOutput(config.main)].filter((path) => path !== null);
  const wanted = named.length > 0 || isWorker || made.length > 0 ? named : [...before.keys()];
  const stale = wanted.find((path) => before.get(path) != null && !made.includes(path));
  return stale === undefined || isTracked(root, stale) ? null : stale;
}

/** The folder of a built entry: a folder without the name of a source folder. */
function mainOutput(main: string | null): string | null {
  const [first] = main?.replace(/^(?:\.\/)+/, '').split('/') ?? [];
  return first !== undefined && isOutputName(first) ? first : null;
}

/** Whether Git tracks files in a folder: then they are sources, whatever its name. */
function isTracked(root: string, path: string): boolean {
  try {
    const words = ['-c', 'core.fsmonitor=false', '-C', root, 'ls-files', '--', path];
    return execFileSync('git', words, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 2 ** 28 }).length > 0;
  } catch {
    // Git is not installed, or this is not a repository.
    return false;
  }
}

function stampsOf(root: string, config: EntryConfig): Map<string, string | null> {
  const paths = [config.out, mainOutput(config.main), ...outputCandidates(root)].filter((path) => path !== null);
  return new Map(paths.filter((path) => resolve(root, path) !== root).map((path) => [path, stampOf(join(root, path))]));
}

/** Existing folders that changed. */
function changed(before: ReadonlyMap<string, string | null>, after: ReadonlyMap<string, string | null>): string[] {
  return [...after].flatMap(([path, stamp]) => (stamp !== null && stamp !== before.get(path) ? [path] : []));
}

/**
 * A fingerprint of a folder that changes with every file written, created or deleted in it; null if it does not exist.
 */
function stampOf(folder: string): string | null {
  let newest = 0n;
  let sum = 0n;
  let files = 0;
  const waiting = [folder];
  for (let path = waiting.pop(); path !== undefined && files < FILES_MAX; path = waiting.pop()) {
    const info = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (info === undefined) continue;
    files++;
    if (info.ctimeNs > newest) newest = info.ctimeNs;
    sum += info.size + info.ino;
    if (info.isDirectory() && !path.endsWith('node_modules'))
      waiting.push(...readdirSync(path).map((name) => join(path!, name)));
  }
  return files === 0 ? null : `${files} ${newest} ${sum}`;
}

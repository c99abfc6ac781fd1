// Runs a project's `build` command. Called by build-step.ts. The command is the project's own code: it gets a small
// environment, without variables of the platform.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { isLoader } from '#core/process/node-command.ts';
import { BuildError } from '../project/build-error.ts';
import { usesVitePlugin } from '../frameworks/detect.ts';
import { filesIn } from '../frameworks/project-files.ts';

/** Variables of the caller that are passed to a build. */
const INHERITED = ['HOME', 'LANG', 'LC_ALL', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

/** Lockfiles with the command that installs their dependencies. */
const managers: ReadonlyMap<string, string> = new Map([
  ['pnpm-lock.yaml', 'pnpm install'],
  ['yarn.lock', 'yarn install'],
  ['bun.lock', 'bun install'],
  ['bun.lockb', 'bun install'],
  ['package-lock.json', 'npm ci'],
]);

/** Grace period after SIGTERM. */
const KILL_MS = 2000;

/** Maximum time and output to read after the exit of a command that left processes running. */
const LAST_OUTPUT_MS = 300;
const LAST_OUTPUT_CHARS_MAX = 1024 * 1024;

/** Output kept for the error message. */
const TAIL_CHARS_MAX = 4000;

/** Options of a build command, besides its folder. */
export interface CommandOptions {
  /** Called with output. Reading pauses while a returned promise is pending. */
  readonly onOutput?: ((text: string) => unknown) | undefined;
  /** Variables of the caller, of which a build gets only a few. By default, the variables of this process are used. */
  readonly inherited?: NodeJS.ProcessEnv | undefined;
  /** Variables of the project, added to the environment. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Aborts the command with all of its processes. */
  readonly signal?: AbortSignal | undefined;
  /** The repository, if it is a workspace: tools that are installed in it are found too. */
  readonly workspace?: string | undefined;
}

/**
 * Runs `sh -c <command>` in a folder and waits for it.
 *
 * @throws {BuildError} `command_failed` when the command cannot start, exits with a nonzero code, or is killed.
 */
export async function runBuildCommand(
  command: string,
  folder: string,
  { onOutput, inherited, environment, workspace, signal: ending }: CommandOptions,
): Promise<void> {
  let tail = '';
  /** Characters of output still to be read. */
  let left = Infinity;
  const child = spawn('sh', ['-c', command], {
    cwd: folder,
    env: buildEnvironment(folder, workspace ?? folder, inherited ?? process.env, environment),
    stdio: ['ignore', 'pipe', 'pipe'],
    // The command gets its own process group, so that all of its processes can be killed.
    detached: ending !== undefined,
  });
  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The group has already exited.
    }
  };
  let late: NodeJS.Timeout | undefined;
  const end = (): void => {
    kill('SIGTERM');
    late = setTimeout(() => kill('SIGKILL'), KILL_MS);
  };
  ending?.addEventListener('abort', end);
  if (ending?.aborted === true) end();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      left -= text.length;
      if (left < 0) return void stream.destroy();
      tail = (tail + text).slice(-TAIL_CHARS_MAX);
      const taking = onOutput?.(text);
      if (!(taking instanceof Promise) || left !== Infinity) return;
      stream.pause();
      const goOn = (): void => void stream.resume();
      void taking.then(goOn, goOn);
    });
  }
  const closed = once(child, 'close').catch(() => {});
  const [code, signal] = (await once(child, 'exit').catch((error: unknown) => {
    throw new BuildError('command_failed', `The build command cannot be started: ${(error as Error).message}`, {
      cause: error,
    });
  })) as [number | null, string | null];
  ending?.removeEventListener('abort', end);
  clearTimeout(late);
  // After the command has exited, its remaining output is read without back-pressure.
  left = LAST_OUTPUT_CHARS_MAX;
  child.stdout.resume();
  child.stderr.resume();
  await atMost(LAST_OUTPUT_MS, closed);
  // Output of background processes is discarded.
  child.stdout.destroy();
  child.stderr.destroy();
  if (code === 0) return;
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  const text = stripVTControlCharacters(tail).trim();
  const said = text === '' ? '' : `:\n${text}`;
  throw new BuildError(
    'command_failed',
    `The build command "${command}" ${how}${said}${installHint(folder, workspace ?? folder)}`,
  );
}

/** Waits for a promise, with a timeout. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

/** The suggested install command if no packages are installed; in a monorepo, for its root. */
function installHint(folder: string, workspace: string): string {
  if (
    !existsSync(join(folder, 'package.json')) ||
    [folder, workspace].some((path) => existsSync(join(path, 'node_modules')))
  )
    return '';
  const install = [...managers].find(([file]) => existsSync(join(workspace, file)))?.[1] ?? 'npm install';
  return `\nDependencies are not installed: run ${install}${workspace === folder ? '' : ` in ${workspace}`}`;
}

function buildEnvironment(
  folder: string,
  workspace: string,
  inherited: NodeJS.ProcessEnv,
  own: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const environment: Record<string, string> = { CI: '1', NODE_ENV: 'production' };
  for (const name of INHERITED) {
    const value = inherited[name];
    if (value !== undefined) environment[name] = value;
  }
  // As with `npm run`, the project's own tools are in PATH.
  const tools = [...new Set([folder, workspace])].map((path) => join(path, 'node_modules', '.bin'));
  const found = [...tools, ...(environment['PATH'] ?? '').split(delimiter)].filter((part) => part !== '');
  environment['PATH'] = [...tools, ...nodeFolder(folder, found), ...found.slice(tools.length)].join(delimiter);
  return { ...environment, ...own };
}

/**
 * The folder of this process's Node, if the project uses the Vite plugin and its shell has an older Node. `platform
 * dev` also runs Vite on this Node, and a plugin that is linked from a clone is TypeScript.
 */
function nodeFolder(folder: string, found: readonly string[]): string[] {
  if (isLoader(process.execPath) || !usesVitePlugin(filesIn(folder))) return [];
  const there = found.map((part) => join(part, 'node')).find((file) => existsSync(file));
  if (there === undefined) return [dirname(process.execPath)];
  const { stdout } = spawnSync(there, ['--version'], { encoding: 'utf8', timeout: KILL_MS });
  const major = Number(/^v(\d+)\./.exec(stdout ?? '')?.[1]);
  return major >= Number(process.versions.node.split('.')[0]) ? [] : [dirname(process.execPath)];
}

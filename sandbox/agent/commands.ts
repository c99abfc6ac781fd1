// Starts a command in its own process group, with a marker variable that identifies its descendants. exec.ts waits for
// it, processes.ts keeps it in the background, and terminals.ts runs it on a terminal. Commands never see the agent's
// own environment.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { CommandArguments } from '#core/sandbox/arguments.ts';
import type { Paths } from './paths.ts';
import { createPipes } from './pipes.ts';
import { killTree } from './process-tree.ts';
import { MARK_VARIABLE, type AgentSettings } from './settings.ts';

/** A running command. */
export interface RunningCommand {
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Exit code of the command; 128 plus the signal number if a signal ended it. */
  readonly exited: Promise<number>;
  /** Sends a signal to all processes of the command. */
  kill(signal: NodeJS.Signals): void;
}

export interface Commands {
  /** @throws {PlatformError} `file_not_found` (the working directory), `sandbox_limit`, `invalid_argument`. */
  start(command: CommandArguments, input: Uint8Array | null): Promise<RunningCommand>;
  /**
   * Starts a program with inherited streams and additional variables.
   *
   * @returns the process of the command, and a function that sends a signal to all of the command's processes.
   */
  spawn(
    words: readonly string[],
    given: Omit<CommandArguments, 'command'>,
    stdio: StdioOptions,
    defaults: Readonly<Record<string, string>>,
  ): Promise<{ readonly child: ChildProcess; kill(signal: NodeJS.Signals): void }>;
  /** Sets variables of all later commands. */
  setVariables(variables: Readonly<Record<string, string>>): void;
}

/** How long to read output after the exit: it may still arrive, or be held open by background processes. */
const QUIET_MS = 50;

/** @param more variables of every command; the caller's variables take precedence. */
export function createCommands(
  settings: AgentSettings,
  paths: Paths,
  more: () => Readonly<Record<string, string>> = () => ({}),
): Commands {
  const variables: Record<string, string> = {};
  const groups = new Set<number>();
  const pipes = createPipes();
  let commands = 0;
  // Processes in a sandbox do not outlive the agent.
  process.once('exit', () => {
    for (const group of groups) killTree(group, settings.mark, 'SIGKILL');
  });

  /** The default working directory of commands. */
  async function folderOf(cwd: string | null): Promise<string> {
    const folder = await paths.resolve(cwd ?? '.');
    const found = await stat(folder.real).catch(() => null);
    if (found === null) throw new PlatformError('file_not_found', { path: folder.shown });
    if (!found.isDirectory()) throw new PlatformError('file_type', { path: folder.shown, what: 'not a folder' });
    return folder.real;
  }

  function launch(
    [program, ...args]: readonly string[],
    folder: string,
    own: Readonly<Record<string, string>>,
    stdio: StdioOptions,
    defaults: Readonly<Record<string, string>> = {},
  ): { readonly child: ChildProcess; readonly mark: string } {
    const mark = `${settings.mark}.${++commands}`;
    const env = { ...settings.variables, ...more(), ...defaults, ...variables, ...own, [MARK_VARIABLE]: mark };
    return { child: spawn(program!, args, { cwd: folder, env, detached: true, stdio }), mark };
  }

  return {
    setVariables: (given) => void Object.assign(variables, given),
    async spawn(words, { cwd, variables: own }, stdio, defaults) {
      const { child, mark } = launch(words, await folderOf(cwd), own, stdio, defaults);
      await started(child, words[0]!);
      groups.add(child.pid!);
      child.once('exit', () => groups.delete(child.pid!));
      return { child, kill: (signal) => killTree(child.pid!, mark, signal) };
    },
    async start({ command, cwd, variables: own }, input) {
      const folder = await folderOf(cwd);
      const words = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
      const streams = await pipes.take(input);
      let child: ChildProcess;
      let mark: string;
      try {
        const stdio = streams?.stdio ?? ([input === null ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const);
        ({ child, mark } = launch(words, folder, own, [...stdio]));
      } finally {
        streams?.given();
      }
      const { stdout, stderr } = (streams ?? child) as { stdout: Readable; stderr: Readable };
      await started(child, words[0]!);
      // A command may exit without reading its input.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
      groups.add(child.pid!);
      const { exited, closed } = endOf(child, stdout, stderr);
      void closed.then(() => groups.delete(child.pid!));
      return { pid: child.pid!, stdout, stderr, exited, kill: (signal) => killTree(child.pid!, mark, signal) };
    },
  };
}

async function started(child: ChildProcess, program: string): Promise<void> {
  const failure = await new Promise<NodeJS.ErrnoException | null>((resolve) => {
    child.once('spawn', () => resolve(null)).once('error', resolve);
  });
  if (failure === null) return;
  switch (failure.code) {
    case 'ENOENT':
      throw new PlatformError('file_not_found', { path: program.slice(0, 200) });
    case 'EACCES':
      throw new PlatformError('file_forbidden', {
        path: program.slice(0, 200),
        action: 'run',
        reason: 'it is not executable',
      });
    case 'E2BIG':
      throw new PlatformError('invalid_argument', {
        reason: 'The command and its variables are too long for the system: write a script to a file, and run it',
      });
    case 'EAGAIN':
    case 'ENOMEM':
    case 'EMFILE':
      throw new PlatformError('sandbox_limit', { what: 'Another process', limit: 'the limit of the sandbox' });
    default:
      throw failure;
  }
}

/**
 * `exited` resolves when the command has exited and its output was read. Background processes may hold the output open
 * until `closed` resolves.
 */
function endOf(
  child: ChildProcess,
  stdout: Readable,
  stderr: Readable,
): { exited: Promise<number>; closed: Promise<unknown> } {
  const closed = Promise.all(
    [child, stdout, stderr].map(
      (each) => new Promise((resolve) => each.once(each === child ? 'exit' : 'close', resolve)),
    ),
  );
  const exited = new Promise<number>((resolve) => {
    let code: number | null = null;
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      stdout.destroy();
      stderr.destroy();
      resolve(code!);
    };
    const soon = (): void => {
      if (code === null) return;
      clearTimeout(timer);
      timer = setTimeout(() => (stdout.isPaused() || stderr.isPaused() ? soon() : end()), QUIET_MS);
    };
    stdout.on('data', soon);
    stderr.on('data', soon);
    child.once('exit', (exitCode, signal) => {
      code = exitCode ?? 128 + constants.signals[signal!];
      soon();
    });
    void closed.then(end);
  });
  return { exited, closed };
}

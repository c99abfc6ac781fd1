// The processes of the embedded Postgres: starts them, waits for them, and ends them, including processes of an earlier
// run.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RunAs } from './embedded-binaries.ts';
import type { Seen } from './embedded-folder.ts';

const START_MS_MAX = 60_000;
const STOP_MS_MAX = 15_000;

/**
 * Starts a program of Postgres.
 *
 * @param options `log` gets its output, `input` is written to it, `signal` ends it.
 */
export function run(
  program: string,
  args: readonly string[],
  options: { user: RunAs | null; log: string; seen: Seen; input?: string; signal: AbortSignal },
): ChildProcess {
  const { signal } = options;
  signal.throwIfAborted();
  // A log file rather than a pipe: a pipe would end the server when this process dies, and keep a shell open while it
  // runs.
  const log = openSync(options.log, 'a', 0o600);
  try {
    const child = spawn(program, args, {
      cwd: options.seen.fd === null ? options.seen.folder : '/',
      // A separate session: the terminal's Ctrl-C only reaches this process, which stops the server after its
      // clients.
      detached: true,
      env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
      stdio: [
        options.input === undefined ? 'ignore' : 'pipe',
        log,
        log,
        ...(options.seen.fd === null ? [] : [options.seen.fd]),
      ],
      ...options.user,
    });
    child.on('error', () => {});
    // Each program of Postgres cleans up after SIGTERM; a server without clients stops immediately.
    const end = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    child.on('exit', () => signal.removeEventListener('abort', end));
    child.stdin?.on('error', () => {});
    if (options.input !== undefined) child.stdin!.end(options.input);
    return child;
  } finally {
    closeSync(log);
  }
}

/** The exit code, the signal, or the reason why it did not start. */
export function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode ?? child.signalCode!);
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 1));
    child.on('error', (error) => resolve(error.message));
  });
}

/**
 * Resolves when the server accepts connections, as shown in the last line of its pid file.
 *
 * @throws {Error} with the end of its log, when it exits or is not ready within a minute.
 */
export async function ready(child: ChildProcess, dataFolder: string, log: string): Promise<void> {
  let ended: number | string | null = null;
  void exitOf(child).then((code) => (ended = code));
  const file = path.join(dataFolder, 'postmaster.pid');
  for (
    const until = performance.now() + START_MS_MAX;
    performance.now() < until;
    await new Promise((resolve) => setTimeout(resolve, 5))
  ) {
    if (ended !== null) throw new Error(`The embedded Postgres does not start (${String(ended)}):\n${endOf(log)}`);
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return;
  }
  child.kill('SIGQUIT');
  throw new Error(`The embedded Postgres is not ready after ${START_MS_MAX / 1000} s:\n${endOf(log)}`);
}

/** Stops a server: clients are disconnected, everything is written. */
export async function end(child: ChildProcess): Promise<void> {
  const ended = exitOf(child);
  child.kill('SIGINT');
  const impatient = setTimeout(() => child.kill('SIGQUIT'), STOP_MS_MAX);
  await ended;
  clearTimeout(impatient);
}

/** The last lines of a log. */
export function endOf(log: string): string {
  try {
    return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  } catch {
    return '(no log)';
  }
}

/**
 * Stops a server left by an earlier run (kill -9): its settings may be old, and its exit would not be noticed.
 *
 * @param own the folder as its server sees it. @throws {Error} when the server does not end.
 */
export async function stopOrphan(dataFolder: string, own: string): Promise<void> {
  const file = path.join(dataFolder, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 1 || !(await isServerOf(pid, dataFolder, own))) {
    rmSync(file, { force: true });
    return;
  }
  for (const [signal, waitMs] of [
    ['SIGINT', STOP_MS_MAX] as const,
    ['SIGQUIT', 5000] as const,
    ['SIGKILL', 5000] as const,
  ]) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    if (await gone(pid, waitMs)) return;
  }
  throw new Error(`Process ${pid} holds the data of the embedded Postgres in ${dataFolder} and does not exit`);
}

/** Whether the process is a Postgres on this folder; its id may be reused by another program. */
async function isServerOf(pid: number, dataFolder: string, own: string): Promise<boolean> {
  if (existsSync('/proc/self/cmdline')) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      // A descriptor's number does not identify its folder, but the server's working directory does.
      return (
        words.includes(dataFolder) ||
        (words.includes(own) && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataFolder))
      );
    } catch {
      return false;
    }
  }
  const child = spawn('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await exitOf(child);
  return output.includes(dataFolder);
}

async function gone(pid: number, waitMs: number): Promise<boolean> {
  for (
    const until = performance.now() + waitMs;
    performance.now() < until;
    await new Promise((resolve) => setTimeout(resolve, 20))
  ) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    // The server's parent has exited too, and the process that adopted it may be slow to reap it.
    try {
      if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) return true;
    } catch {
      // The system is not Linux, or the process has just exited.
    }
  }
  return false;
}

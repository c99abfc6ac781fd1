// A real `platform dev` for tests: the command in the test's process, or the program as users start it, in one of its
// own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { run } from '#cli/main.ts';
import type { Shell } from '#cli/terminal/shell.ts';
import { nodeFlags } from '#core/node-flags.mjs';
import { recordingShell } from '../unit/cli/recording-shell.ts';
import { send, type TestRequest, type TestResponse } from './handler.ts';

/** A running `platform dev`. */
export interface TestDev {
  readonly port: number;
  /** All that it printed so far. */
  readonly output: string;
  fetch(path?: string, options?: TestRequest): Promise<TestResponse>;
  /** Resolves when it has printed a match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  close(): Promise<unknown>;
}

/** One that runs as a program. */
export interface TestDevProgram extends TestDev {
  /** Asks it to end. @returns how it has. */
  close(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>;
}

/** On a free port. */
const ADDRESS = ['-p', '0', '-h', '127.0.0.1'];
/** Whatever engines this machine has. */
const VARIABLES = { NO_COLOR: '1', PLATFORM_DEV_SANDBOX: 'local' };

/**
 * Runs the command in a project's folder, in this process: a start takes a fraction of that of the program.
 *
 * @param environment variables beside this process's.
 */
export async function startDevHere(
  folder: string,
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<TestDev> {
  const output = openOutput();
  const own = { ...VARIABLES, ...environment };
  const recording = recordingShell(folder, { ...(process.env as Record<string, string>), ...own });
  const line = (text: string): void => output.take(`${text}\n`);
  const shell: Shell = { ...recording, out: line, err: line };
  // Limits and the like are read from the process's own as it starts.
  const before = Object.fromEntries(Object.keys(own).map((name) => [name, process.env[name]]));
  Object.assign(process.env, own);
  const ended = run(['dev', ...ADDRESS, ...flags], shell);
  void ended.then((code) => output.end(`platform dev ended with ${code}`));
  try {
    return Object.assign(await output.dev(), {
      close() {
        recording.stop();
        return ended;
      },
    });
  } finally {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  }
}

/**
 * Starts the program in a project's folder. @param launcher of another copy of the program. @param environment
 * variables beside this process's.
 */
export async function startDev(
  folder: string,
  flags: readonly string[] = [],
  launcher = join(import.meta.dirname, '../../cli/run.mjs'),
  environment: Readonly<Record<string, string>> = {},
): Promise<TestDevProgram> {
  // With its flags the launcher starts no process of its own, which a kill would leave behind.
  const child = spawn(process.execPath, [...nodeFlags, launcher, 'dev', ...ADDRESS, ...flags], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...VARIABLES, ...environment },
  });
  const output = openOutput();
  child.stdout.on('data', (chunk: Buffer) => output.take(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => output.take(chunk.toString()));
  child.once('exit', (code) => output.end(`platform dev ended with ${code}`));
  const end = async (by: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill(by);
      await exited;
    }
    return { code: child.exitCode, signal: child.signalCode };
  };
  return Object.assign(await output.dev(), {
    kill: async () => void (await end('SIGKILL')),
    close: () => end('SIGTERM'),
  });
}

/** What one prints, and what waits for it. */
function openOutput(): {
  take(text: string): void;
  end(why: string): void;
  /** Resolves when it has printed where it is. */
  dev(): Promise<Omit<TestDev, 'close'>>;
} {
  let output = '';
  let over: string | null = null;
  const waiting = new Set<() => void>();
  const look = (): void => waiting.forEach((each) => each());
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const each = (): void => {
        const found = pattern.exec(output);
        if (found === null && over === null) return;
        waiting.delete(each);
        if (found !== null) resolve(found);
        else reject(new Error(`${over}: ${output}`));
      };
      waiting.add(each);
      each();
    });
  return {
    take(text) {
      output += text;
      look();
    },
    end(why) {
      over = why;
      look();
    },
    async dev() {
      const [, port] = await printed(/http:\/\/127\.0\.0\.1:(\d+)/);
      return {
        port: Number(port),
        get output() {
          return output;
        },
        fetch: (path = '/', options = {}) => send(Number(port), `localhost:${port}`, path, options),
        printed,
      };
    },
  };
}

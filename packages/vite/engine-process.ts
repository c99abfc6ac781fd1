// The engine process of the plugin: `platform vite engine` as a child process, found in PLATFORM_CLI, then in the
// project's dependencies, then in PATH. The process ends when its standard input closes, and therefore with this
// process.
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { defer, type Deferred } from './deferred.ts';
import type { EngineFailure, FromEngine, ToEngine } from './messages.ts';

/** Start options of an engine. */
export type EngineStart = Omit<Extract<ToEngine, { type: 'start' }>, 'type'>;

/** A running engine. */
export interface EngineProcess {
  /** Its port on 127.0.0.1. Rejects if the engine did not start. */
  readonly ready: Promise<{ readonly port: number; readonly dashboardUrl: string | null }>;
  /** Rejects with a {@link ProjectFailure} if the worker cannot be deployed. */
  deploy(message: Extract<ToEngine, { type: 'worker' | 'reload' }>): Promise<void>;
  moved(host: string, port: number): void;
  /** Settles when the engine has ended by itself. */
  readonly ended: Promise<void>;
  /** Resolves when the engine has ended. */
  close(): Promise<void>;
}

/** Problems of the project, reported by the engine. */
type ProjectFailure = Error & { readonly failures: readonly EngineFailure[] };

function projectFailure(failures: readonly EngineFailure[]): ProjectFailure {
  const lines = failures.map(({ message, advice }) => (advice ? `${message}. ${advice}` : message));
  return Object.assign(new Error(lines.join('\n')), { failures });
}

export function isProjectFailure(error: unknown): error is ProjectFailure {
  return error instanceof Error && 'failures' in error;
}

/** @param onLine receives the engine's output for people: requests, logs. */
export function startEngine(start: EngineStart, onLine: (line: string) => void): EngineProcess {
  const [program, ...words] = programOf(start.folder);
  const child: ChildProcess = spawn(program!, [...words, 'vite', 'engine'], {
    cwd: start.folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    // Output of the engine is shown in this process's terminal.
    env: { ...process.env, ...(process.stdout.isTTY && !process.env['NO_COLOR'] && { FORCE_COLOR: '1' }) },
  });
  const ready = defer<{ port: number; dashboardUrl: string | null }>();
  const ended = defer<void>();
  const waiting = new Map<number, Deferred<void>>();
  const send = (message: ToEngine): void => void child.stdin!.write(`${JSON.stringify(message)}\n`);

  const end = (reason: string): void => {
    const error = new Error(`The engine of the platform ${reason}`);
    ready.reject(error);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    ended.resolve();
  };
  // Callers that wait for the promise get the error. This handler prevents an unhandled rejection if nobody waits.
  ready.promise.catch(() => {});
  child.stdin!.on('error', () => {});
  child.on('error', (error: NodeJS.ErrnoException) =>
    end(
      error.code === 'ENOENT'
        ? 'was not found: install it with `npm install --save-dev @platform-run/cli`'
        : `cannot be started: ${error.message}`,
    ),
  );
  child.on('exit', (code, signal) => end(`ended (${signal ?? `exit code ${code}`}); its last lines say why`));
  createInterface({ input: child.stderr! }).on('line', onLine);
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const message = JSON.parse(line) as FromEngine;
    if (message.type === 'ready') return ready.resolve(message);
    const asked = waiting.get(message.number);
    waiting.delete(message.number);
    if (message.type === 'deployed') asked?.resolve();
    else asked?.reject(projectFailure(message.failures));
  });
  send({ type: 'start', ...start });

  return {
    ready: ready.promise,
    ended: ended.promise,
    deploy(message) {
      const asked = defer<void>();
      if (child.exitCode !== null || child.signalCode !== null)
        asked.reject(new Error('The engine of the platform has exited'));
      else {
        waiting.set(message.number, asked);
        send(message);
      }
      return asked.promise;
    },
    moved: (host, port) => send({ type: 'address', host, port }),
    async close() {
      child.stdin!.end();
      await ended.promise;
    },
  };
}

/** The program and its first arguments. */
function programOf(folder: string): string[] {
  const given = process.env['PLATFORM_CLI'];
  if (given !== undefined && given !== '') return /\.m?js$/.test(given) ? [process.execPath, given] : [given];
  try {
    const manifest = createRequire(path.join(folder, 'package.json')).resolve('@platform-run/cli/package.json');
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
    return [process.execPath, path.join(path.dirname(manifest), bin['platform']!)];
  } catch {
    return ['platform'];
  }
}

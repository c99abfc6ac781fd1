// A real `platform dev` for tests: the program as users start it, in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { nodeFlags } from '#core/node-flags.mjs';
import { send, type TestRequest, type TestResponse } from './handler.ts';

/** A running `platform dev`. */
export interface TestDev {
  readonly port: number;
  /** All that it printed so far. */
  readonly output: string;
  fetch(path?: string, options?: TestRequest): Promise<TestResponse>;
  /** Resolves when it has printed a match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Ends it at once, as `kill -9` does. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts it in a project's folder, on a free port. @param launcher of another copy of the program. @param environment
 * variables beside this process's.
 */
export async function startDev(
  folder: string,
  flags: readonly string[] = [],
  launcher = join(import.meta.dirname, '../../cli/run.mjs'),
  environment: Readonly<Record<string, string>> = {},
): Promise<TestDev> {
  // With its flags the launcher starts no process of its own, which a kill would leave behind.
  const child = spawn(process.execPath, [...nodeFlags, launcher, 'dev', '-p', '0', '-h', '127.0.0.1', ...flags], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Whatever engines this machine has.
    env: { ...process.env, NO_COLOR: '1', PLATFORM_DEV_SANDBOX: 'local', ...environment },
  });
  let output = '';
  const waiting = new Set<() => void>();
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
    for (const look of waiting) look();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(output);
        if (found === null) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      child.once('exit', (code) => reject(new Error(`platform dev ended with ${code}: ${output}`)));
      look();
    });
  const [, port] = await printed(/http:\/\/127\.0\.0\.1:(\d+)/);
  return {
    port: Number(port),
    get output() {
      return output;
    },
    fetch: (path = '/', options = {}) => send(Number(port), `localhost:${port}`, path, options),
    printed,
    async kill() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

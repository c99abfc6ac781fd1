// The builder's process as the supervisor runs it, with the real steps, for tests that kill it or look into it.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { nodeCommand } from '#core/process/node-command.ts';
import { openBuilds, type TestBuilds } from './builds.ts';
import { shellSteps } from './shell-steps.ts';

const MAIN = path.join(import.meta.dirname, '../../builder/service/main.ts');

/** How often tests kill it. */
export const ROUNDS = Number(process.env['BUILDER_KILL_ROUNDS'] ?? 1);

/** What it builds, and the starting of it. */
export interface BuilderProcesses {
  readonly builds: TestBuilds;
  /** Starts the process; resolves when it is ready. @param around words that stand before its command */
  start(variables?: Readonly<Record<string, string>>, around?: readonly string[]): Promise<ChildProcess>;
  /** @returns exit code and signal. */
  end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown[]>;
  close(): Promise<void>;
}

export async function openBuilderProcesses(): Promise<BuilderProcesses> {
  const builds = await openBuilds(shellSteps);
  let last: ChildProcess | null = null;
  return {
    builds,
    async start(variables = {}, around = []) {
      const [program, ...words] = [...around, ...nodeCommand()] as [string, ...string[]];
      const child = fork(MAIN, {
        execPath: program,
        execArgv: [...words, '--disable-warning=ExperimentalWarning'],
        env: {
          PATH: process.env['PATH'],
          FS_PATH: builds.folder,
          DATABASE_URL: builds.url,
          ENCRYPTION_KEY: builds.keyText,
          BUILD_POLL_MS: '100',
          GITHOST_WEBHOOK_SECRET: 'of-the-platform-alone',
          ...variables,
        },
        stdio: ['ignore', process.env['TEST_LOG'] === undefined ? 'ignore' : 'inherit', 'inherit', 'ipc'],
      });
      last = child;
      const [first] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
      assert.deepEqual(first, { type: 'ready' });
      return child;
    },
    async end(child, signal) {
      const ended = once(child, 'exit');
      child.kill(signal);
      return ended;
    },
    async close() {
      last?.kill('SIGKILL');
      await builds.close();
    },
  };
}

/** A project whose build prints so many lines, one in 100 ms. */
export function counting(lines: number): Record<string, string> {
  const command = `n=0; while [ $n -lt ${lines} ]; do n=$((n+1)); echo "line $n"; sleep 0.1; done; mkdir -p out; echo x > out/index.html`;
  return { 'platform.yaml': `kind: static\nout: out\nbuild: '${command}'\n` };
}

/** Processes with this text in their environment or command line. */
export function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(text));
    } catch {
      return false;
    }
  });
}

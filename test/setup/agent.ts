// An agent in `platform dev` for tests: a worker of packages/agent with real bindings, whose env.AI asks a model of the
// test.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '#packages/agent/workspace-types.ts';
import { startFakeModel, type FakeModel } from './fake-model.ts';
import { agentWorker } from './agent-worker.ts';
import { startDev, startDevHere, type TestDev, type TestDevProgram } from './dev.ts';

/** An agent under test, and what it talks to. */
export interface TestAgent<Dev extends TestDev = TestDev> extends Omit<FakeModel, 'close' | 'url'> {
  readonly dev: Dev;
  readonly folder: string;
  /** Sends a message; the chat has the id of the user. */
  say(userId: string, text: string): Promise<{ runId: string; queued: boolean }>;
  command(name: string, ...args: unknown[]): Promise<string>;
  /** As it lies in the state. */
  workspace(userId: string): Promise<Workspace | null>;
  /** Resolves when no run is active. */
  idle(userId: string): Promise<Workspace>;
  /** Starts it again in the same folder, after its end. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** One that may be killed. */
export interface KilledAgent extends TestAgent<TestDevProgram> {
  /** Kills the process, and starts it again in the same folder. */
  killAndStart(): Promise<void>;
}

const root = join(import.meta.dirname, '../..');

/**
 * Starts one, in this process.
 *
 * @param config members of what `createAgent` takes, as code.
 * @param variables of its project.
 */
export async function startAgent(config = '', variables: Readonly<Record<string, string>> = {}): Promise<TestAgent> {
  return startWith((folder) => startDevHere(folder), config, variables);
}

/** Starts one as a process, which may be killed. */
export async function startAgentProcess(
  config = '',
  variables: Readonly<Record<string, string>> = {},
): Promise<KilledAgent> {
  const agent = await startWith((folder) => startDev(folder), config, variables);
  return Object.assign(agent, {
    async killAndStart() {
      await agent.dev.kill();
      await agent.start();
    },
  });
}

async function startWith<Dev extends TestDev>(
  open: (folder: string) => Promise<Dev>,
  config: string,
  variables: Readonly<Record<string, string>>,
): Promise<TestAgent<Dev>> {
  const { close, url, ...double } = await startFakeModel();
  // Below the checkout's own node_modules, where the packages' own packages are.
  const folder = await mkdtemp(join(root, 'node_modules/.test-'));
  await mkdir(join(folder, 'node_modules/@platform-run'), { recursive: true });
  await symlink(join(root, 'packages/agent'), join(folder, 'node_modules/@platform-run/agent'));
  await mkdir(join(folder, '.git'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(folder, 'platform.yaml'), 'agentSDK: true\n');
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const environment = { PLATFORM_DEV_AI_URL: url, PLATFORM_DEV_AI_TOKEN: 'of-the-test', ...variables };
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, '.env'), lines.join(''));
  await writeFile(join(folder, 'src/index.ts'), agentWorker(url, config));
  let dev = await open(folder);

  const post = async (path: string, body: unknown): Promise<unknown> => {
    const response = await dev.fetch(path, { method: 'POST', body: JSON.stringify(body) });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}\n${dev.output}`);
    return response.json();
  };
  const workspace = async (userId: string): Promise<Workspace | null> =>
    (await post('/workspace', { userId })) as Workspace | null;
  return {
    ...double,
    get dev() {
      return dev;
    },
    folder,
    say: async (userId, message) =>
      (await post('/say', { userId, chatId: userId, platform: 'test', text: message })) as never,
    command: async (name, ...args) => (await post('/command', { name, args })) as string,
    workspace,
    async idle(userId) {
      for (;;) {
        const found = await workspace(userId);
        if (found !== null && found.activeRunId === null) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async start() {
      dev = await open(folder);
    },
    async close() {
      await dev.close();
      close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

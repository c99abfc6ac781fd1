// An agent under a supervisor, on Postgres, whose engine is killed at chosen moments of runs; for
// test/durability/agent.test.ts.
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '#packages/agent/workspace-types.ts';
import { startFakeModel, type FakeModel } from './fake-model.ts';
import { agentWorker } from './agent-worker.ts';
import { startPlatform } from './platform.ts';
import { until } from './until.ts';

export interface KilledAgent extends Omit<FakeModel, 'close' | 'url'> {
  say(userId: string, text: string): Promise<void>;
  workspace(userId: string): Promise<Workspace | null>;
  /** kill -9 of every engine that serves. */
  kill(): Promise<void>;
  readonly kills: number;
  close(): Promise<void>;
}

const root = join(import.meta.dirname, '../..');

/** Starts one. @param config members of what `createAgent` takes, as code. */
export async function startKilledAgent(config: string): Promise<KilledAgent> {
  const { close, url, ...double } = await startFakeModel();
  const platform = await startPlatform(
    {},
    {
      DATABASE_URL: '',
      WORKER_EGRESS_ALLOW: 'loopback',
      DELIVERY_BACKOFF_MS: '50',
      DELIVERY_BACKOFF_MS_MAX: '500',
      DELIVERY_RETRIES: '100',
      BROKER_POLL_MS: '200',
      QUARANTINE_BACKOFF_MS: '10',
    },
  );
  await mkdir(join(platform.folder, 'node_modules/@platform-run'), { recursive: true });
  for (const name of ['agent', 'types', 'worker'])
    await symlink(join(root, 'packages', name), join(platform.folder, 'node_modules/@platform-run', name));
  await platform.deploy('shop', agentWorker(url, config, 'fetch'), 'agentSDK: true\n');
  let kills = 0;

  /** However long it takes until an engine answers. */
  const insist = (path: string, body: object): Promise<unknown> =>
    until(async () => {
      const sent = { method: 'POST', body: JSON.stringify(body) };
      const answer = await platform.fetch('shop', path, sent).catch(() => null);
      return answer?.status === 200 && { json: answer.json() };
    }).then(({ json }) => json);
  return {
    ...double,
    say: async (userId, text) => void (await insist('/say', { userId, chatId: userId, platform: 'test', text })),
    workspace: async (userId) => (await insist('/workspace', { userId })) as Workspace | null,
    async kill() {
      const pids = await until(async () => {
        const { engines } = await platform.state();
        const serving = engines.flatMap(({ state, pid }) => (state === 'listening' && pid != null ? [pid] : []));
        return serving.length > 0 && serving;
      });
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      kills++;
    },
    get kills() {
      return kills;
    },
    async close() {
      await platform.close();
      close();
    },
  };
}

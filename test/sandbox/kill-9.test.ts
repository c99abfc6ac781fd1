// The sandbox service is killed at random moments while sandboxes are made, asked, suspended, stopped and destroyed:
// what was answered is so when it is back, and nothing is left that belongs to no sandbox. DURABILITY_ROUNDS kills.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { root } from '#cli/tasks/tools/processes.ts';
import { openSandboxClient } from '#core/sandbox/service-client.ts';
import { openPostgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { freePort } from '#test/setup/free-port.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { engineName, machineThings, socketPath } from '#test/setup/sandbox-containers.ts';
import { SANDBOX_IMAGE } from '#test/setup/sandbox-engine.ts';
import { eventually } from '#test/setup/whole-platform.ts';

const rounds = Number(process.env['DURABILITY_ROUNDS'] ?? 3);
const TOKEN = 'tokentokentokentokentokentokentoken';
const IDS = ['a', 'b', 'c'];
/** Until a kill; a sandbox is made within that. */
const ROUND_MS_MAX = 4000;
const NOTHING = 'nothing';
const timeout = 120_000 + rounds * 20_000;

/** What a sandbox's file may hold: what was answered last, and what was asked and not answered. */
interface Known {
  written: string;
  asked: string[];
}

test(
  `kill -9 of the sandbox service over ${engineName} loses nothing and leaves nothing, ${rounds} rounds`,
  { timeout },
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sandbox-disks-'));
    const things = await machineThings();
    const database = await createTestDatabase();
    const owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
    const port = await freePort();
    const env = {
      PATH: process.env['PATH'],
      FS_PATH: folder,
      SANDBOX_AUTH_TOKEN: TOKEN,
      SANDBOX_DATABASE_URL: await openSandboxRole(owner, database.url),
      SANDBOX_DEFAULT_IMAGE: SANDBOX_IMAGE,
      SANDBOX_PORT: String(port),
      SANDBOX_DISK_MB: '32',
      SANDBOX_SWEEP_MS: '200',
      SANDBOX_ANSWER_MS: '60000',
      DOCKER_HOST: `unix://${socketPath}`,
      LOG_FORMAT: 'json',
    };
    const start = async (): Promise<ChildProcess> => {
      const child = fork(path.join(root, 'sandbox/main.ts'), {
        env,
        execArgv: ['--disable-warning=ExperimentalWarning'],
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      });
      // What the engine said.
      child.stdout!.on('data', (chunk: Buffer) => {
        for (const line of chunk.toString().split('\n'))
          if (line.includes('"level":40')) process.stderr.write(`${line}\n`);
      });
      const [message] = (await once(child, 'message')) as [{ type: string }];
      assert.equal(message.type, 'ready');
      return child;
    };
    const client = openSandboxClient({ url: `http://127.0.0.1:${port}`, token: TOKEN });
    const placeOf = (id: string) => ({ project: 'shop', resource: 'work', id });
    const known = new Map<string, Known>(IDS.map((id) => [id, { written: NOTHING, asked: [] }]));
    let count = 0;

    /** One thing after the other with a sandbox, until the service is gone. */
    async function use(id: string, gone: AbortSignal): Promise<void> {
      const state = known.get(id)!;
      while (!gone.aborted) {
        const chance = Math.random();
        try {
          if (chance < 0.6) {
            const next = String(++count);
            state.asked.push(next);
            await client.call(placeOf(id), 'exec', { command: ['sh', '-c', `echo ${next} > new; mv new kept`] });
          } else if (chance < 0.75) await client.call(placeOf(id), 'suspend');
          else if (chance < 0.85) await client.call(placeOf(id), 'stop');
          else {
            state.asked.push(NOTHING);
            await client.call(placeOf(id), 'destroy');
          }
        } catch (error) {
          // Whatever was under way, or came after its end.
          if (gone.aborted) return;
          // The engine may still be at what the service before asked of it.
          if ((error as { code?: string }).code !== 'sandbox_unavailable') throw error;
          process.stderr.write(`${id}: ${(error as Error).message}\n`);
          continue;
        }
        if (gone.aborted) return;
        state.written = state.asked.at(-1) ?? state.written;
        state.asked = [];
      }
    }

    /** Everything on this machine and in the engine is of a sandbox that has a row. */
    async function belongs(): Promise<true> {
      const keys = (await owner.all<{ key: string }>('SELECT key FROM sandbox.sandbox')).map(({ key }) => key);
      const { containers, volumes, networks, loops, mounts } = await machineThings();
      const isOurs = (name: string): boolean => keys.some((key) => name.includes(key));
      const disks = readdirSync(path.join(folder, 'sandboxes')).filter((name) => name.endsWith('.img'));
      for (const [what, names] of Object.entries({ volumes, loops, mounts, disks }))
        assert.deepEqual(
          names!.filter((name) => !isOurs(name) && !things[what]?.includes(name)),
          [],
          what,
        );
      assert.ok(containers!.length <= things['containers']!.length + keys.length, 'a container of no sandbox');
      assert.deepEqual(networks, things['networks']);
      return true;
    }

    let service = await start();
    try {
      for (let round = 1; round <= rounds; round++) {
        const gone = new AbortController();
        const using = Promise.all(IDS.map((id) => use(id, gone.signal)));
        await Promise.race([using, wait(Math.random() * ROUND_MS_MAX)]);
        gone.abort();
        service.kill('SIGKILL');
        await once(service, 'exit');
        await using;
        service = await start();
        for (const id of IDS) {
          const state = known.get(id)!;
          const command = `cat kept 2>/dev/null || echo ${NOTHING}`;
          const { stdout } = (await client.call(placeOf(id), 'exec', { command })) as { stdout: string };
          const found = stdout.trim();
          assert.ok(
            [state.written, ...state.asked].includes(found),
            `round ${round}, ${id}: ${found} instead of ${state.written} or ${state.asked.join(', ')}`,
          );
          known.set(id, { written: found, asked: [] });
          assert.equal((await client.info(placeOf(id)))!.state, 'running');
        }
        await eventually('nothing belongs to nobody', belongs);
      }
      for (const id of IDS) await client.call(placeOf(id), 'destroy');
      await eventually('nothing is left', async () => {
        assert.deepEqual(await owner.all('SELECT key FROM sandbox.sandbox'), []);
        assert.deepEqual(await machineThings(), things);
        return true;
      });
    } finally {
      if (service.exitCode === null && service.kill('SIGTERM')) await once(service, 'exit');
      await owner.close();
      await database.close();
      rmSync(folder, { recursive: true });
    }
  },
);

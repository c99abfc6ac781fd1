// Builds and releases while the API, the builder, engines, Postgres, the broker and the database service are killed,
// one a round: what was pushed is live at the end, nothing half-deployed is, and no line of a log is lost.
// `npm test -- durability` asks for twenty rounds (DURABILITY_ROUNDS).
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { startSteadyLoad } from '#test/setup/steady-load.ts';
import { eventually, startWholePlatform, type Json } from '#test/setup/whole-platform.ts';

const rounds = Number(process.env['DURABILITY_ROUNDS'] ?? 6);
const victims = ['api', 'builder', 'engine', 'postgres', 'broker', 'databases'] as const;
/** When in a build the kill comes: as long after the push. */
const MOMENTS_MS = [100, 400, 900, 1500, 2200];

const worker = (text: string): string => `
// A build step that takes a moment, so that there is something to interrupt.
export default { fetch: () => new Response(${JSON.stringify(text)}) };
`;

test(
  `what is pushed is live after ${rounds} rounds of kill -9 during builds and releases`,
  {
    timeout: 120_000 + rounds * 60_000,
  },
  async (t) => {
    const platform = await startWholePlatform({ HANDLER_PROCESSES: '2' });
    t.after(() => platform.close());
    const clone = path.join(platform.folder, 'clone');
    mkdirSync(path.join(clone, 'src'), { recursive: true });
    const remote = `http://x:${platform.token}@127.0.0.1:${platform.ports.api}/git/shop.git`;
    await platform.git(clone, 'init', '-q', '-b', 'main');
    const commit = async (text: string): Promise<string> => {
      writeFileSync(path.join(clone, 'platform.yaml'), 'kind: worker\nbuild: sleep 0.5\n');
      writeFileSync(path.join(clone, 'src/index.ts'), worker(text));
      await platform.git(clone, 'add', '.');
      await platform.git(clone, 'commit', '-q', '-m', text);
      return (await platform.git(clone, 'rev-parse', 'HEAD')).stdout.trim();
    };
    /** Until Git has said that the branch is there. */
    const push = (): Promise<true> =>
      eventually('A push', async () => {
        await platform.git(clone, 'push', '-q', remote, 'main').catch(() => {});
        const { stdout } = await platform.git(clone, 'ls-remote', remote, 'main');
        return stdout.startsWith((await platform.git(clone, 'rev-parse', 'HEAD')).stdout.trim());
      });
    await commit('round 0');
    await push();
    await eventually('The first deployment', async () => (await platform.open('shop')).text === 'round 0');
    const load = startSteadyLoad({ port: platform.ports.handler, host: 'shop.localhost', perSecond: 50 });
    t.after(() => load.stop());

    const projectId = (await platform.call('GET', '/deployments?limit=1').catch(() => null))?.items[0]?.projectId;
    const retried: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const victim = victims[(round - 1) % victims.length]!;
      const sha = await commit(`round ${round}`);
      const began = performance.now();
      const pushing = push();
      await new Promise((resolve) => setTimeout(resolve, MOMENTS_MS[round % MOMENTS_MS.length]));
      await kill(victim);
      await pushing;
      const { id } = await eventually(`The deployment of round ${round}`, async () => {
        const query = projectId === undefined ? '' : `projectId=${projectId}&`;
        const { items } = await platform.call('GET', `/deployments?${query}limit=5`);
        return items.find((one: Json) => one.commitSha === sha) ?? null;
      });
      const deployment = await platform.ended(id);
      assert.equal(deployment.status, 'success', JSON.stringify(deployment));
      await eventually(`Round ${round} live`, async () => (await platform.open('shop')).text === `round ${round}`);
      // The API may have connections yet of the Postgres that was killed.
      const { items: lines } = await eventually('Its log', () =>
        platform.call('GET', `/deployments/${deployment.id}/logs`),
      );
      const seqs = lines.map((line: Json) => line.seq);
      assert.deepEqual(
        seqs,
        seqs.map((_: number, index: number) => index + 1),
        'a line of the log is lost',
      );
      const attempts = lines.filter((line: Json) => line.text.startsWith('Building shop')).length;
      retried.push(attempts - 1);
      assert.ok(attempts <= 2, `${attempts} attempts are to be seen`);
      t.diagnostic(
        `round ${round}: killed ${victim}, live after ${Math.round(performance.now() - began)} ms, attempts ${attempts}`,
      );
    }
    const open = await platform.call('GET', '/deployments?limit=100');
    const unfinished = open.items.filter((one: Json) =>
      ['queued', 'building', 'uploading', 'migrating'].includes(one.status),
    );
    assert.deepEqual(unfinished, []);
    await load.stop();
    const wrong = load.failures.filter((line) => / 4\d\d /.test(line));
    t.diagnostic(
      `${load.sent} requests, ${load.failures.length} lost while their engine was killed, ${retried.reduce((a, b) => a + b, 0)} retries`,
    );
    assert.deepEqual(wrong, [], 'a request was answered as if the project were not there');

    async function kill(victim: (typeof victims)[number]): Promise<void> {
      const pid = await eventually(`A process of ${victim}`, async () => {
        const status = await platform.status();
        const found =
          victim === 'engine'
            ? status.engines.find((engine: Json) => engine.state === 'listening')
            : status.services.find((service: Json) => service.name === victim);
        return found?.pid ?? null;
      });
      process.kill(pid, 'SIGKILL');
    }
  },
);

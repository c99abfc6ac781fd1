// What callers, the engine and a provider do to the service: each ends with an answer that says what happened, and
// nothing is left behind.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { after, before, describe } from 'node:test';
import { text } from 'node:stream/consumers';
import { NO_OPTIONS } from '#core/sandbox/options.ts';
import { createSandboxRoutes } from '#sandbox/routes/routes.ts';
import { createMemoryRows } from '#sandbox/service/rows-memory.ts';
import { startSandboxes, type RunningSandboxes } from '#sandbox/service/sandboxes.ts';
import { attackTable } from '#test/setup/attack-table.ts';
import { openFakeHostedBackend, startHostedProvider, type Misbehaviour } from '#test/setup/hosted-provider.ts';
import { engineName, openTestContainers, type TestContainers } from '#test/setup/sandbox-containers.ts';

const NEVER_MS = 2 ** 31 - 1;
const times = { idleMs: NEVER_MS, stopMs: NEVER_MS, destroyMs: NEVER_MS };

/** Has the engine stopped or started by whoever started it. */
async function engine(word: 'stop' | 'start'): Promise<void> {
  const socket = connect(process.env['TEST_SANDBOX_SWITCH']!);
  socket.write(word);
  assert.equal(await text(socket), 'done');
}

describe(`attacks on the sandbox service over ${engineName}`, () => {
  let containers: TestContainers;
  let sandboxes: RunningSandboxes;
  let server: Server;
  const attack = attackTable(`Attacks on the sandbox service over ${engineName}`);

  before(async () => {
    containers = await openTestContainers({ diskMb: 64 });
    sandboxes = startSandboxes({
      backend: containers.backend,
      rows: createMemoryRows({ provider: 'container', perProjectMax: 10, times }),
      times,
      leaseMs: NEVER_MS,
      sweepMs: NEVER_MS,
      perProjectMax: 10,
      report: () => {},
    });
    const log = (): void => {};
    server = createServer(createSandboxRoutes({ sandboxes, isAuthorized: () => true, callsMax: 20, log }));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(async () => {
    server.close();
    server.closeAllConnections();
    await containers.close();
    await sandboxes.close();
  });

  /** Status, and what was printed or the code of the refusal. */
  async function exec(project: string, id: string, command: string): Promise<[status: number, said: string]> {
    const { port } = server.address() as AddressInfo;
    const target = `http://127.0.0.1:${port}/v1/projects/${project}/sandboxes/work/${id}/exec`;
    const answer = await fetch(target, { method: 'POST', body: JSON.stringify({ command }) });
    const body = (await answer.json()) as { stdout?: string; error?: { code: string; message: string } };
    return [answer.status, body.stdout ?? `${body.error!.code}: ${body.error!.message}`];
  }
  const works = async (): Promise<string> => {
    const began = performance.now();
    assert.deepEqual(await exec('blog', 'calm', 'echo fine'), [200, 'fine\n']);
    return `neighbour answers in ${Math.round(performance.now() - began)} ms`;
  };

  attack('ids of odd characters are refused, and nothing is made for them', async () => {
    const odd = [
      '%2e%2e',
      '..%2f..',
      'a%2fb',
      'a%20b',
      '%00',
      'ä',
      '-a',
      '.a',
      'a%0ab',
      'x'.repeat(64),
      '$(id)',
      '%25',
    ];
    for (const id of odd) {
      const [status, said] = await exec('shop', id, 'true');
      assert.deepEqual([id, status, said.split(':')[0]], [id, 400, 'invalid_argument']);
    }
    for (const project of ['..', '%2e%2e', 'A', 'a%2fb', '']) {
      const [status] = await exec(project, 'one', 'true');
      assert.ok(status === 400 || status === 404, project);
    }
    assert.deepEqual(await containers.backend.keys(), []);
    return works();
  });

  attack('the same id in another project is another machine, which sees nothing of the first', async () => {
    assert.equal((await exec('shop', 'one', 'echo secret-of-shop > kept; sleep 4720 & echo done'))[0], 200);
    const search =
      'cat kept; grep -rs secret-of-shop /workspace /tmp /run /opt/platform-sandbox/core; pgrep -f "sleep 472[0]"; ls /proc/[0-9]*/cwd/ | grep kept; true';
    assert.deepEqual(await exec('blog', 'one', search), [200, '']);
    return works();
  });

  attack('a service without an engine does not start, and says why', async () => {
    await assert.rejects(
      openTestContainers({ socketPath: '/nowhere/engine.sock' }),
      /^Failure: The container engine at \/nowhere\/engine\.sock does not answer: ENOENT$/,
    );
    return works();
  });

  attack(
    'an engine that goes away ends calls with sandbox_lost or sandbox_unavailable, and its files are there when it is back',
    async () => {
      await works();
      assert.equal((await exec('shop', 'two', 'echo 42 > kept'))[0], 200);
      const running = exec('shop', 'two', 'sleep 600').catch(() => [0, 'cut'] as const);
      await engine('stop');
      try {
        const [status, said] = await running;
        assert.ok(status === 0 || /^sandbox_(?:lost|unavailable|destroyed)/.test(said), said);
        const [refused, why] = await exec('shop', 'new', 'true');
        assert.deepEqual(
          [refused, why],
          [503, 'sandbox_unavailable: The sandbox is unavailable: the container engine does not answer'],
        );
      } finally {
        await engine('start');
      }
      assert.deepEqual(await exec('shop', 'two', 'cat kept'), [200, '42\n']);
      return works();
    },
  );

  const misbehaviours: readonly (readonly [attack: string, how: Misbehaviour, times: number, reason: RegExp])[] = [
    ['answers 401', { kind: 'status', status: 401 }, 99, /making the sandbox failed/],
    [
      'answers 429 again and again',
      { kind: 'status', status: 429, retryAfter: '0' },
      99,
      /provider of sandboxes does not answer/,
    ],
    [
      'answers 503 again and again',
      { kind: 'status', status: 503, retryAfter: '0' },
      99,
      /provider of sandboxes does not answer/,
    ],
    ['answers with garbage', { kind: 'garbage' }, 99, /provider of sandboxes does not answer/],
    ['sends an endless answer', { kind: 'endless' }, 99, /provider of sandboxes does not answer/],
    ['says nothing', { kind: 'hang' }, 1, /provider of sandboxes does not answer/],
  ];
  for (const [what, how, count, reason] of misbehaviours)
    attack(`a provider that ${what} is an error with a code, and leaves no machine`, async () => {
      const provider = await startHostedProvider();
      const backend = await openFakeHostedBackend(provider);
      try {
        provider.misbehave(/^POST .*\/sandboxes$/, how, count);
        const place = { project: 'shop', resource: 'work', id: 'one' };
        const began = performance.now();
        await assert.rejects(
          backend.create({ key: 'a1', place, options: NO_OPTIONS }),
          (error: Error & { code?: string }) => {
            assert.equal(error.code, 'sandbox_unavailable');
            assert.match(error.message, reason);
            assert.doesNotMatch(error.message, /hosted-key-of-the-double/);
            return true;
          },
        );
        assert.deepEqual(provider.names(), []);
        return `refused after ${Math.round(performance.now() - began)} ms; ${await works()}`;
      } finally {
        await backend.close();
        await provider.close();
      }
    });
});

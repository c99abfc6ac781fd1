// When a server of an ssr project runs, over processes that are none: test/ssr/ has real ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimits, type SsrLimits } from '#core/limits.ts';
import type { ServerSpec } from '#core/ssr/protocol.ts';
import type { ServerProcess } from '#runtime/ssr/server-process.ts';
import { Servers } from '#runtime/ssr/servers.ts';

const spec = (key: string): ServerSpec => ({ key }) as ServerSpec;

/** Servers whose processes listen at once, or fail with a reason, on a clock of the test's own. */
function open(limits: Partial<SsrLimits> = {}) {
  const state = { now: 0, failure: null as string | null };
  const started: { readonly key: string; readonly slot: number; readonly end: (reason: string) => void }[] = [];
  const stopped: string[] = [];
  const lines: string[] = [];
  const ended: string[] = [];
  const servers = new Servers({
    limits: { ...defaultLimits.ssr, idleMs: 1000, pauseMs: 1000, pauseMsMax: 4000, processesMax: 2, ...limits },
    now: () => state.now,
    onLine: (key, level, text) => void lines.push(`${key} ${level} ${text}`),
    onEnded: (key, socket) => void ended.push(`${key} ${socket}`),
    start({ key }, slot) {
      if (state.failure !== null) return Promise.reject(new Error(state.failure));
      const { promise, resolve } = Promise.withResolvers<{ reason: string }>();
      const end = (reason: string): void => resolve({ reason });
      started.push({ key, slot, end });
      const process = {
        socket: `${key}/${started.length}`,
        ended: promise,
        kill: end,
        stop: () => {
          stopped.push(key);
          end('it was stopped');
          return promise.then(() => {});
        },
      };
      return Promise.resolve(process as unknown as ServerProcess);
    },
  });
  return { servers, state, started, stopped, lines, ended };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('one server answers for all who ask, and ends when nobody has asked for a while', async () => {
  const { servers, state, started, stopped } = open();
  const holders = [{}, {}, {}];
  const sockets = await Promise.all(holders.map((holder) => servers.acquire(spec('app'), holder)));
  assert.deepEqual([...new Set(sockets)], ['app/1']);
  state.now = 5000;
  servers.stopIdle();
  servers.release('app', holders[0]!);
  servers.releaseAll(holders[1]!);
  state.now = 9000;
  servers.stopIdle();
  assert.deepEqual(stopped, []);
  servers.release('app', holders[2]!);
  state.now = 9999;
  servers.stopIdle();
  assert.deepEqual(stopped, []);
  state.now = 10_000;
  servers.stopIdle();
  assert.deepEqual(stopped, ['app']);
  assert.equal(await servers.acquire(spec('app'), {}), 'app/2');
  assert.equal(started.length, 2);
});

test('one that fails is left alone for a while that grows, and its reason is told', async () => {
  const { servers, state, lines } = open();
  state.failure = 'exit code 1';
  const asks = async (): Promise<unknown> =>
    servers.acquire(spec('app'), {}).then(
      () => 'started',
      ({ code, details }: { code: string; details: Record<string, unknown> }) => [code, details['retryAfterSeconds']],
    );
  assert.deepEqual(await asks(), ['server_start_failed', 1]);
  assert.deepEqual(await asks(), ['server_start_failed', 1]);
  assert.deepEqual(lines, ['app error Server not started: exit code 1']);
  for (const [after, seconds] of [
    [1000, 2],
    [3000, 4],
    [7000, 4],
  ] as const) {
    state.now = after;
    assert.deepEqual(await asks(), ['server_start_failed', seconds]);
  }
  state.failure = null;
  state.now = 11_000;
  assert.equal(await asks(), 'started');
  assert.deepEqual(servers.starts, { ok: 1, failed: 4 });
});

test('one that ends soon after its start has failed, one that has run for a while has not', async () => {
  const { servers, state, started, lines, ended } = open();
  await servers.acquire(spec('app'), {});
  state.now = 20_000;
  started[0]!.end('it used more than 128 MB of memory');
  await settled();
  assert.equal(await servers.acquire(spec('app'), {}), 'app/2');
  started[1]!.end('SIGKILL');
  await settled();
  await assert.rejects(servers.acquire(spec('app'), {}), { code: 'server_start_failed' });
  assert.deepEqual(ended, ['app app/1', 'app app/2']);
  assert.deepEqual(lines, [
    'app error Server ended: it used more than 128 MB of memory',
    'app error Server ended: SIGKILL',
  ]);
});

test('an idle one makes room for another, and where all are busy the request is refused', async () => {
  const { servers, state, started, stopped } = open();
  const holder = {};
  await servers.acquire(spec('one'), holder);
  await servers.acquire(spec('two'), {});
  await assert.rejects(servers.acquire(spec('three'), {}), { code: 'overloaded' });
  servers.release('one', holder);
  state.now = 1;
  assert.equal(await servers.acquire(spec('three'), {}), 'three/3');
  assert.deepEqual(stopped, ['one']);
  // Two that run at the same time never share a user id.
  assert.deepEqual(
    started.map(({ slot }) => slot),
    [0, 1, 2],
  );
});

test('one that answers no connection is ended, and the next request has another', async () => {
  const { servers, state } = open();
  const socket = await servers.acquire(spec('app'), {});
  servers.lost('app', 'of one before it');
  assert.equal(await servers.acquire(spec('app'), {}), socket);
  state.now = 20_000;
  servers.lost('app', socket);
  assert.equal(await servers.acquire(spec('app'), {}), 'app/2');
});

test('after the end nothing is started', async () => {
  const { servers, stopped } = open();
  await servers.acquire(spec('app'), {});
  await servers.close();
  assert.deepEqual(stopped, ['app']);
  await assert.rejects(servers.acquire(spec('app'), {}), { code: 'server_unavailable' });
});

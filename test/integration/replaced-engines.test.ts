// Engines that share requests, die, are replaced and lose a deployment to quarantine: each once, over one platform.
// test/engines has them in depth.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { globalAgent } from 'node:http';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';
import { startLoad, type Load } from '#test/setup/load.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform(
    {
      hello: `export default { fetch: () => new Response('hello') };`,
      counting: `let count = 0; export default { fetch: () => new Response(String(++count)) };`,
      slow: `export default { async fetch() { await new Promise((resolve) => setTimeout(resolve, 400)); return new Response('slow, but whole'); } };`,
      killer: `export default { fetch(request) { if (new URL(request.url).pathname === '/kill') return new Response(String('x'.repeat(2 ** 28).split('').length)); return new Response('killer is well'); } };`,
    },
    {
      HANDLER_PROCESSES: '2',
      HANDLER_SPARES: '1',
      HANDLER_FORWARDS_MAX: '1000000',
      QUARANTINE_BACKOFF_MS: '3600000',
    },
  );
  await platform.answers('hello', 'hello');
});
after(() => platform.close());

const serving = async () =>
  (await platform.state()).engines.filter(({ role, state }) => role === 'serving' && state === 'listening');
const load = (): Load =>
  startLoad({ port: platform.port, host: 'hello.localhost', text: 'hello', clients: 4, keepAlive: true, pauseMs: 80 });

test('two engines answer on one port, and whichever a connection comes to, one isolate of a deployment serves', async () => {
  const engines = await serving();
  assert.deepEqual(engines.map(({ place }) => place).toSorted(), [0, 1]);
  assert.equal(new Set(engines.map(({ pid }) => pid)).size, 2);
  const seen: string[] = [];
  for (let request = 0; request < 20; request++)
    seen.push((await platform.fetch('counting', '/', { headers: { connection: 'close' } })).text);
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, index) => String(index + 1)),
  );
});

test('kill -9 of one of two: its own connections may be lost, everything else answers, and it is replaced', async () => {
  const clients = load();
  await clients.more(20);
  const [victim] = await serving();
  process.kill(victim!.pid, 'SIGKILL');
  await platform.restarted();
  await clients.more(20);
  await clients.stop();
  // One request of each client at the most: whoever comes again finds an engine.
  assert.ok(clients.failures.length <= 4, `${clients.failures.length} failures`);
  const now = await serving();
  assert.deepEqual(now.map(({ place }) => place).toSorted(), [0, 1]);
  assert.equal(now.find(({ place }) => place === victim!.place)?.restarts, 1);
  assert.equal((await platform.state()).deaths, 1);
});

test('no request is dropped when an engine is replaced that lives', async () => {
  const clients = load();
  await clients.more(20);
  const [before] = await serving();
  const slow = platform.fetch('slow');
  await platform.recycle(before!.id);
  await clients.more(20);
  assert.equal((await slow).text, 'slow, but whole');
  await clients.stop();
  // The old engine ends with its last idle connection, and that one may be ours.
  globalAgent.destroy();
  await until(async () => !(await platform.state()).engines.some(({ id }) => id === before!.id));
  assert.deepEqual(clients.failures, []);
  const now = (await serving()).find(({ place }) => place === before!.place);
  assert.notEqual(now?.pid, before!.pid);
  assert.equal(now?.restarts, before!.restarts + 1);
  assert.equal((await platform.state()).deaths, 1);
});

test('a deployment that kills its engine is refused for a while, with the time to come again, and no other is', async () => {
  await platform.answers('killer', 'killer is well');
  await platform.fetch('killer', '/kill').catch(() => null);
  const blamed = await until(async () =>
    (await platform.state()).ledger.find(({ deployment }) => deployment.startsWith('killer/d')),
  );
  assert.deepEqual([blamed.exact, blamed.suspected], [1, 0]);
  // Until the other engine knows that it is gone, it answers `engine_lost`.
  const paused = await until(async () => {
    const answer = await platform.fetch('killer').catch(() => null);
    return answer?.headers['x-platform-error'] === 'deployment_quarantined' ? answer : null;
  });
  assert.equal(paused.status, 503);
  assert.match(String(paused.headers['retry-after']), /^\d+$/);
  await platform.answers('hello', 'hello');
});

test('one that is asked to end leaves no process and no socket, and serves what it knew when it is started again', async (t) => {
  const { engines } = await platform.state();
  const sockets = dirname(engines[0]!.socketPath);
  assert.ok((await readdir(sockets)).length >= 4);
  process.kill(platform.supervisorPid, 'SIGTERM');
  await until(() => isGone(platform.supervisorPid));
  assert.equal(existsSync(sockets), false);
  for (const { pid } of engines) assert.ok(isGone(pid), `process ${pid} is left`);
  const again = await startPlatform({}, { FS_PATH: platform.folder, HANDLER_SPARES: '0' });
  t.after(() => again.close());
  await again.answers('hello', 'hello');
});

function isGone(pid: number): boolean {
  try {
    return process.kill(pid, 0) && false;
  } catch {
    return true;
  }
}

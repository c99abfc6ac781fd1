// An engine is replaced under load: the other one listens first, on the same socket, and no request is dropped.
import assert from 'node:assert/strict';
import { globalAgent } from 'node:http';
import { after, before, test } from 'node:test';
import { startLoad } from '#test/setup/load.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform(
    {
      hello: `export default { fetch: () => new Response('hello') };`,
      slow: `export default { async fetch() { await new Promise((resolve) => setTimeout(resolve, 400)); return new Response('slow, but whole'); } };`,
    },
    { HANDLER_PROCESSES: '1' },
  );
  await platform.answers('hello', 'hello');
});
after(() => platform.close());

for (const keepAlive of [true, false]) {
  test(`no request is dropped when an engine is replaced, with ${keepAlive ? 'kept' : 'new'} connections`, async () => {
    const load = startLoad({ port: platform.port, host: 'hello.localhost', text: 'hello', clients: 8, keepAlive });
    await load.more(200);
    const [before] = (await platform.state()).engines.filter(({ role }) => role === 'serving');
    const last = load.lastAnswers;
    const slow = platform.fetch('slow');
    await platform.recycle(before!.id);
    await load.more(500);
    assert.equal((await slow).text, 'slow, but whole');
    // The old engine ends with its last idle connection, and that one is ours.
    globalAgent.destroy();
    while ((await platform.state()).engines.some(({ id }) => id === before!.id)) await load.more(10);
    await load.stop();
    assert.deepEqual(load.failures, []);
    if (keepAlive) assert.ok(load.lastAnswers - last >= 1, 'clients of the old engine are told to come again');
    const [now] = (await platform.state()).engines.filter(({ role }) => role === 'serving');
    assert.notEqual(now?.pid, before!.pid);
    assert.equal(now?.restarts, before!.restarts + 1);
    assert.equal((await platform.state()).deaths, 0);
  });
}

test('an engine that holds too much memory is replaced by itself', async () => {
  const small = await startPlatform(
    { hello: `export default { fetch: () => new Response('hello') };` },
    { ENGINE_RECYCLE_MB: '1', ENGINE_RECYCLE_AGE_MS: '500', HANDLER_SPARES: '0' },
  );
  const pid = small.enginePid;
  await small.restarted();
  assert.notEqual(small.enginePid, pid);
  await small.answers('hello', 'hello');
  assert.equal((await small.state()).deaths, 0);
  await small.close();
});

// `'x'.repeat(2**28).split('')` ends the whole process with a fatal V8 error: no fence inside a process holds it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';

let platform: TestPlatform;

before(async () => {
  platform = await startPlatform({
    killer: `export default { fetch(request) { if (new URL(request.url).pathname === '/kill') return new Response(String('x'.repeat(2 ** 28).split('').length)); return new Response('killer is back'); } };`,
    victim: `export default { fetch: () => new Response('victim is back') };`,
  });
});
after(() => platform.close());

test('an engine that a worker kills is replaced, and both it and its neighbour answer again', async () => {
  await platform.answers('victim', 'victim is back');
  const pid = platform.enginePid;
  const restarted = platform.restarted();
  await assert.rejects(platform.fetch('killer', '/kill'));
  await restarted;
  assert.notEqual(platform.enginePid, pid);
  await platform.answers('victim', 'victim is back');
  await platform.answers('killer', 'killer is back');
});

test('kill -9 of the engine is no different', async () => {
  const restarted = platform.restarted();
  process.kill(platform.enginePid, 'SIGKILL');
  await restarted;
  await platform.answers('victim', 'victim is back');
});

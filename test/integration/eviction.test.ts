import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;
const names = Array.from({ length: 8 }, (_, index) => `w${index}`);

before(async () => {
  const counter = 'let count = 0; export default { fetch: () => new Response(String(++count)) };';
  handler = await startHandler(Object.fromEntries(names.map((name, index) => [name, `${counter} // ${index}`])), {
    isolatesMax: 3,
  });
});
after(() => handler.close());

test('more deployments than isolates are all served: the least recently used one goes, and comes back as new', async () => {
  for (const name of names) assert.equal((await handler.fetch(name)).text, '1');
  assert.ok(handler.engine.pool.live <= 3, `${handler.engine.pool.live} isolates live`);
  assert.equal((await handler.fetch(names.at(-1) as string)).text, '2', 'the last one is still there');
  assert.equal((await handler.fetch(names[0] as string)).text, '1', 'the first one starts again');
});

test('an artifact whose bundle is not what its hash says does not run, and its neighbours do', async (t) => {
  const broken = await startHandler({
    broken: 'export default { fetch: () => new Response("never") };',
    fine: 'export default { fetch: () => new Response("fine") };',
  });
  t.after(() => broken.close());
  const artifact = broken.artifactFolder('broken');
  await writeFile(`${artifact}/worker.js`, 'export default { fetch: () => new Response("forged") };');
  const response = await broken.fetch('broken');
  assert.equal(response.status, 503);
  assert.equal(response.headers['x-platform-error'], 'artifact_corrupt');
  assert.match(response.text, /worker\.js does not match its hash/);
  assert.equal((await broken.fetch('fine')).text, 'fine');
});

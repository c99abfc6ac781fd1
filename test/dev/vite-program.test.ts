// The Vite plugin with its engine as users have it, a process of its own that ends with Vite's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { save, startVite, viteProject } from '#test/setup/vite-project.ts';

const source = (word: string): string => `export default {
  async fetch(request, env) {
    console.log('asked for', new URL(request.url).pathname);
    return Response.json(['${word}', await env.KEPT.update('count', { $inc: { n: 1 } })]);
  },
};
`;

test('a worker behind Vite runs in an engine that is a program, which starts again with what it kept', async (context) => {
  const folder = viteProject(context, {
    'platform.yaml': 'state: { KEPT: kept }\n',
    'worker/index.js': source('one'),
  });
  const first = await startVite(context, folder, { isWhole: true });
  assert.deepEqual(await (await first.get('/a')).json(), ['one', { n: 1 }]);
  await save(first, folder, 'worker/index.js', source('two'));
  assert.deepEqual(await (await first.get('/b')).json(), ['two', { n: 2 }]);
  assert.ok(first.lines.some((line) => line.includes('asked for /a')));
  await first.server.close();
  const second = await startVite(context, folder, { isWhole: true });
  assert.deepEqual(await (await second.get('/c')).json(), ['two', { n: 3 }]);
});

// The cache binding from inside a worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHandler } from '#test/setup/handler.ts';

test('the cache binding keeps texts for a while, apart from other resources and from cached responses', async () => {
  const source = `export default {
    async fetch(request, { CACHE, OTHER }) {
      await CACHE.set('a', 'grün', { ttl: 60 });
      await CACHE.set('brief', 'x', { ttl: 0.001 });
      await CACHE.set('gone', 'x');
      await CACHE.delete('gone');
      await new Promise((resolve) => setTimeout(resolve, 5));
      const refused = await CACHE.set('a', 5).catch((error) => error.message);
      const late = await CACHE.set('a', 'b', { ttl: 0 }).catch((error) => error.message);
      return Response.json([await CACHE.get('a'), await CACHE.get('brief'), await CACHE.get('gone'), await OTHER.get('a'), refused, late]);
    },
  };`;
  const values = await startHandler({ app: { files: source, yaml: 'cache:\n  CACHE: pages\n  OTHER: other\n' } });
  const answer = (await values.fetch('app')).json();
  await values.close();
  assert.deepEqual(answer, [
    'grün',
    null,
    null,
    null,
    'The value must be a string',
    'ttl must be a number of seconds above 0',
  ]);
});

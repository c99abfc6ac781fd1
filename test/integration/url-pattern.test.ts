import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;

before(async () => {
  handler = await startHandler({
    patterns: `export default { fetch(request) {
      const pattern = new URLPattern({ pathname: '/users/:id(\\\\d+)/:rest*' });
      const found = pattern.exec(request.url);
      return Response.json({ groups: found?.pathname.groups ?? null, same: URLPattern === globalThis.URLPattern, shown: Object.keys(globalThis).includes('URLPattern') });
    } };`,
  });
});
after(() => handler.close());

test('URLPattern, built on first use, matches and gives its groups', async () => {
  assert.deepEqual((await handler.fetch('patterns', '/users/7/a/b')).json(), {
    groups: { id: '7', rest: 'a/b' },
    same: true,
    shown: false,
  });
  assert.deepEqual((await handler.fetch('patterns', '/users/x')).json(), { groups: null, same: true, shown: false });
});

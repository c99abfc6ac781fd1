// Ids of requests, as clients and workers see them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHandler } from '#test/setup/handler.ts';

const worker = `export default { fetch(request) {
  if (new URL(request.url).pathname === '/throw') throw new Error('on purpose');
  return new Response(request.headers.get('x-request-id'));
} };`;

test('what a trusted proxy calls a request is answered and recorded', async (t) => {
  const handler = await startHandler({ app: worker }, {}, { trustedProxies: ['127.0.0.1'] });
  t.after(() => handler.close());
  const { headers, text } = await handler.fetch('app', '/', { headers: { 'x-request-id': 'of-the-proxy' } });
  assert.deepEqual([headers['x-request-id'], text], ['of-the-proxy', 'of-the-proxy']);
  assert.equal(handler.requests[0]!.requestId, 'of-the-proxy');
  const failure = await handler.fetch('app', '/throw', { headers: { 'x-request-id': 'of-the-proxy' } });
  assert.deepEqual([failure.status, failure.headers['x-request-id']], [500, 'of-the-proxy']);
});

test('a client’s own name of a request is between it and the worker', async (t) => {
  const handler = await startHandler({ app: worker });
  t.after(() => handler.close());
  const { headers, text } = await handler.fetch('app', '/', { headers: { 'x-request-id': 'of-the-client' } });
  assert.deepEqual([headers['x-request-id'], text], [handler.requests[0]!.invocation, 'of-the-client']);
  assert.equal(handler.requests[0]!.requestId, null);
});

test('ids of invocations do not repeat, whatever isolate serves them', async (t) => {
  const handler = await startHandler({ a: worker, b: worker });
  t.after(() => handler.close());
  for (const project of ['a', 'b', 'a', 'b']) await handler.fetch(project);
  const ids = handler.requests.map(({ invocation }) => invocation);
  assert.equal(new Set(ids).size, 4);
  assert.equal(new Set(ids.map((id) => id.split('-')[0])).size, 1);
});

// Bodies of requests, by every way in which a worker reads them.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler, type TestResponse } from '#test/setup/handler.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

const code = `export default {
  async fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    const type = request.headers.get('content-type');
    switch (pathname) {
      case '/text': return new Response(await request.text());
      case '/bytes': return new Response(await request.arrayBuffer());
      case '/blob': { const blob = await request.blob(); return new Response(blob, { headers: { 'x-type': blob.type, 'x-size': String(blob.size) } }); }
      case '/json': return Response.json(await request.json());
      case '/form': return Response.json([...await request.formData()]);
      case '/stream': return new Response(request.body);
      case '/clone': { const copy = request.clone(); return Response.json([await request.text(), await copy.text(), type, request.bodyUsed]); }
      case '/again': return new Response(await new Request(request).text());
      case '/late': {
        context.waitUntil(request.text().catch((error) => console.log('late ' + error)));
        return new Response('answered');
      }
      default: return new Response(String(request.body === null));
    }
  },
};`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler({ app: code });
});
after(() => handler.close());

const post = (path: string, body: string | Uint8Array, type = 'text/plain'): Promise<TestResponse> =>
  handler.fetch('app', path, { method: 'POST', body, headers: { 'content-type': type } });

test('a body comes in byte for byte, whether it is text or not, however it is read', async () => {
  const random = createSeededRandom();
  const bodies = [
    Buffer.from('plain'),
    Buffer.from('Grüße, 東京 🚀'),
    Buffer.from([0xef, 0xbb, 0xbf, 0x41]),
    Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
    Buffer.from('a\u0001b\u0002c\0d\r\n'),
    ...[16_383, 16_384, 16_385, 65_536, 65_537, 300_000].map((bytes) => Buffer.alloc(bytes, 'ASCII only. ')),
    ...[16_384, 16_385, 65_536].map((bytes) => Buffer.from(Array.from({ length: bytes }, () => random.below(256)))),
  ];
  for (const body of bodies) {
    for (const path of ['/bytes', '/stream', '/blob']) {
      const answer = await post(path, body);
      assert.ok(answer.body.equals(body), `${path}, ${body.byteLength} bytes, FUZZ_SEED=${random.seed}`);
    }
    const text = new TextDecoder().decode(body);
    assert.equal((await post('/text', body)).text, text);
    assert.equal((await post('/again', body)).text, text);
  }
});

test('JSON, forms, blobs and clones are read from a body that came in as text', async () => {
  assert.deepEqual((await post('/json', '{"a":[1,"b"]}')).json(), { a: [1, 'b'] });
  assert.deepEqual((await post('/form', 'a=1&b=%C3%BC', 'application/x-www-form-urlencoded')).json(), [
    ['a', '1'],
    ['b', 'ü'],
  ]);
  const part = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nvalue\r\n--x--\r\n';
  assert.deepEqual((await post('/form', part, 'multipart/form-data; boundary=x')).json(), [['a', 'value']]);
  assert.deepEqual((await post('/clone', 'twice')).json(), ['twice', 'twice', 'text/plain', true]);
  const { headers } = await post('/blob', 'abc', 'text/x-test');
  assert.deepEqual([headers['x-type'], headers['x-size']], ['text/x-test', '3']);
  assert.equal(
    (await handler.fetch('app', '/none', { method: 'POST', headers: { 'content-length': '0' } })).text,
    'true',
  );
});

test('a body that arrives in pieces is put together', async () => {
  const socket = connect(handler.port, '127.0.0.1');
  socket.setNoDelay(true);
  socket.write('POST /text HTTP/1.1\r\nhost: app.localhost\r\nconnection: close\r\ncontent-length: 9\r\n\r\nabc');
  for (const piece of ['def', 'ghi']) {
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(piece);
  }
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  assert.match(answer, /\r\n\r\nabcdefghi$/);
});

test('a body that nobody reads goes with its request', async () => {
  const body = Buffer.alloc(512 * 1024);
  const statuses = new Set<number>();
  // Together more than the isolate may hold.
  for (let left = 120; left > 0; left--) {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post('/none', body)));
    for (const { status } of answers) statuses.add(status);
  }
  assert.deepEqual([...statuses], [200]);
});

test('who reads a body after the answer is out is told that it is gone', async () => {
  assert.equal((await post('/late', Buffer.alloc(2 * 1024 * 1024))).text, 'answered');
  assert.match((await handler.logged('app', /^late/)).text, /^late TypeError: .*request body/);
});

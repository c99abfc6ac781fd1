// Bodies that a worker passes on without looking at them: from the second chunk on they do not enter its isolate, and
// nobody notices.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readlink, rm, truncate } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const worker = `
export default {
  async fetch(request, { FILES, UPSTREAM }) {
    const { pathname } = new URL(request.url);
    const file = () => FILES.get('large');
    switch (pathname) {
      case '/echo': return new Response(request.body);
      case '/proxy': return fetch(UPSTREAM, { method: 'POST', body: request.body });
      case '/put': return Response.json(await FILES.put('large', request.body));
      case '/file': return new Response((await file()).body);
      case '/range': return new Response((await FILES.get('large', { range: { offset: 1_000_001, length: 2_000_002 } })).body);
      case '/copy': return Response.json(await FILES.put('copy', (await file()).body));
      case '/taken': {
        const { body } = await file();
        const response = new Response(body);
        const before = [body.locked, response.bodyUsed];
        const put = FILES.put('taken', response.body);
        const during = [body.locked, response.bodyUsed];
        const again = await FILES.put('again', response.body).catch((error) => error.name);
        await put;
        return Response.json([before, during, again]);
      }
      case '/unread': return new Response(String((await file()).size));
      case '/half': {
        const reader = (await file()).body.getReader();
        return new Response(String((await reader.read()).value.length > 0));
      }
      case '/tee': {
        const [one, other] = (await file()).body.tee();
        const put = FILES.put('tee', one);
        const text = await new Response(other).arrayBuffer();
        return Response.json([(await put).size, text.byteLength]);
      }
    }
  },
};`;

const content = randomBytes(5_000_003);
const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
let handler: TestHandler;
let folder: string;
let fs: ReturnType<typeof openFilesDisk>;
let upstream: Server;
const write = { headers: {}, metadata: {}, onlyIf: null, digests: {}, bytesMax: 1e9 };
const place = { namespace: 'app', resource: 'large' };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-passed-on-'));
  fs = openFilesDisk(folder);
  upstream = createServer((incoming, outgoing) => incoming.pipe(outgoing)).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const vars = { UPSTREAM: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/` };
  const source = { files: worker, yaml: 'fs:\n  FILES: large\n', vars };
  handler = await startHandler({ app: source }, {}, { stores: { ...noStores, files: fs } });
  await fs.put(place, 'large', Buffer.from(content), write);
});
after(async () => {
  await handler.close();
  fs.close();
  upstream.close();
  await rm(folder, { recursive: true });
});

for (const path of ['/echo', '/proxy'])
  test(`a request's body comes back whole by ${path}`, async () => {
    const response = await handler.fetch('app', path, { method: 'POST', body: content });
    assert.equal(response.status, 200);
    assert.equal(hashOf(response.body), hashOf(content));
  });

test('a small body that is passed on comes back with its length', async () => {
  const response = await handler.fetch('app', '/echo', { method: 'POST', body: 'small' });
  assert.deepEqual([response.text, response.headers['content-length']], ['small', '5']);
  const proxied = await handler.fetch('app', '/proxy', { method: 'POST', body: 'small' });
  assert.equal(proxied.text, 'small');
});

test('a file is a response, or a range of it is', async () => {
  assert.equal(hashOf((await handler.fetch('app', '/file')).body), hashOf(content));
  assert.equal(hashOf((await handler.fetch('app', '/range')).body), hashOf(content.subarray(1_000_001, 3_000_003)));
});

test('a body becomes a file, and a file another', async () => {
  const put = await handler.fetch('app', '/put', { method: 'PUT', body: content });
  assert.equal((put.json() as { etag: string }).etag, createHash('md5').update(content).digest('hex'));
  const copied = await handler.fetch('app', '/copy');
  assert.equal((copied.json() as { etag: string }).etag, createHash('md5').update(content).digest('hex'));
});

test('a stream that is passed on is locked, and can be passed on once', async () => {
  assert.deepEqual((await handler.fetch('app', '/taken')).json(), [[false, false], [true, true], 'TypeError']);
});

test('both branches of a stream get all of it', async () => {
  assert.deepEqual((await handler.fetch('app', '/tee')).json(), [content.length, content.length]);
});

/** Files of the store that are open, other than its index. */
async function openContents(): Promise<number> {
  const names = await Promise.all(
    (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
  );
  return names.filter((name) => name.startsWith(join(folder, 'content'))).length;
}

async function get(path: string): Promise<IncomingMessage> {
  const outgoing = request({
    host: '127.0.0.1',
    port: handler.port,
    path,
    headers: { host: 'app.localhost' },
    agent: false,
  });
  outgoing.on('error', () => {});
  outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return incoming;
}

test('what a worker does not read, or not to its end, is closed when it has answered', async () => {
  await fs.put(place, 'large', Buffer.alloc(5_000_000, 'c'), write);
  assert.equal((await handler.fetch('app', '/unread')).text, '5000000');
  assert.equal((await handler.fetch('app', '/half')).text, 'true');
  while ((await openContents()) > 0) await new Promise((resolve) => setImmediate(resolve));
});

test('a client that goes away in the middle leaves no file open', async () => {
  await fs.put(place, 'large', Buffer.alloc(64_000_000, 'a'), write);
  const incoming = await get('/file');
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).length;
    if (bytes > 1_000_000) break;
  }
  incoming.destroy();
  while ((await openContents()) > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await handler.fetch('app', '/echo', { method: 'POST', body: 'alive' })).text, 'alive');
});

test('a file that breaks off in the middle is a response that is seen as cut off', async () => {
  await fs.put(place, 'large', Buffer.alloc(64_000_000, 'b'), write);
  const incoming = await get('/file');
  const [first] = (await once(incoming, 'data')) as [Buffer];
  incoming.pause();
  let bytes = first.length;
  for (const entry of await readdir(join(folder, 'content'), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) await truncate(join(entry.parentPath, entry.name), 1000);
  incoming.on('data', (chunk: Buffer) => (bytes += chunk.length));
  incoming.resume();
  const [error] = (await once(incoming, 'error')) as [Error];
  assert.equal(error.message, 'aborted');
  assert.ok(bytes < 64_000_000);
});

// Clients that go away while a signed address is being served. What addresses allow is test/integration/files.test.ts.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { PlatformError } from '#core/errors.ts';
import type { FileStore } from '#runtime/engine/bindings/files.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { createSignedFiles } from '#runtime/engine/http/signed-files.ts';

const place = { namespace: 'shop', resource: 'pictures' };
const head = { key: 'a', size: 1, etag: 'e', version: 'v', uploadedAt: 0, headers: {}, metadata: {}, digests: {} };

/** An exchange that has sent nothing yet, and whose client goes away when `onAbort` is called. */
function exchangeOf(method: string, address: string): Exchange {
  const { pathname } = new URL(address);
  const calls = {
    readBody() {},
    resumeBody() {},
    send() {},
    begin() {},
    write: () => true,
    end() {},
    destroy() {},
    upgrade: () => null,
  };
  return {
    method,
    target: pathname,
    host: 'shop.localhost',
    headerBlock: '',
    remoteAddress: '127.0.0.1',
    bodyBytes: 10,
    header: () => null,
    ...calls,
    requestId: '',
    onAbort: null,
    onDrain: null,
    refusedCookies: '',
    sentBytes: 0,
  };
}

function serve(method: 'GET' | 'PUT', store: Partial<FileStore>): Exchange {
  const files = createSignedFiles(store as FileStore, Buffer.alloc(32, 1), 1000);
  const address = files.sign('http://shop.localhost', place, 'a', { method, expiresInSeconds: 60, sizeMax: null });
  const exchange = exchangeOf(method, address);
  files.serve(exchange, 'shop');
  return exchange;
}

test('a client that goes away before the store reads its body ends nothing else', async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const { promise: given, resolve: give } = Promise.withResolvers<unknown>();
  const exchange = serve('PUT', {
    async put(_place, _key, body) {
      await opened;
      try {
        for await (const _chunk of body);
      } catch (error) {
        give(error);
      }
      return null;
    },
  });
  exchange.onAbort?.();
  await new Promise((resolve) => setImmediate(resolve));
  open();
  assert.equal(((await given) as Error).message, 'client disconnected');
});

test('a file that was opened for a client who has gone is closed unread', async () => {
  const { promise: found, resolve: find } = Promise.withResolvers<void>();
  let reads = 0;
  const body = new Readable({
    read() {
      reads++;
      this.push(null);
    },
  });
  const closed = new Promise((resolve) => body.once('close', resolve));
  const exchange = serve('GET', {
    async get() {
      await found;
      return { head, range: { offset: 0, length: 1 }, body };
    },
  });
  exchange.onAbort?.();
  find();
  await closed;
  assert.equal(reads, 0);
});

test('an upload for which a project has no room is answered 507 with the bound', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<[number, string]>();
  const limit = '100 bytes';
  const exchange = serve('PUT', {
    async put() {
      await Promise.resolve();
      exchange.send = (status, _headers, body) => answer([status, String(body)]);
      throw new PlatformError('quota_exceeded', { what: 'The files of this project', limit });
    },
  });
  assert.deepEqual(await answered, [507, '{"error":"The files of this project would exceed 100 bytes"}']);
});

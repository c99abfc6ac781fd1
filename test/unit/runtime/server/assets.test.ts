// Static files over a real listener and real files.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import type { AssetFile, AssetRules, Manifest } from '#core/manifest.ts';
import type { OpenArtifact } from '#runtime/router/artifact-source.ts';
import { createAssetServer } from '#runtime/server/assets.ts';
import { openNodeListener } from '#runtime/server/listener-node.ts';
import { connectRaw, type RawResponse } from '#test/contract/raw-client.ts';

const large = 'x'.repeat(300_000) + 'end';
const contents: Record<string, string> = {
  'index.html': '<h1>home</h1>',
  'about.html': 'about',
  'big.bin': large,
  '404.html': 'none here',
  'empty.txt': '',
  'assets/app-BaX3k9_2.js': 'app()',
  'ü b.txt': 'umlaut',
};
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

interface Site {
  readonly folder: string;
  get(target: string, headers?: Record<string, string>, method?: string): Promise<RawResponse>;
}

async function site(
  t: TestContext,
  rules: Partial<AssetRules> = {},
  options: { last?: boolean; cacheBytesMax?: number } = {},
): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'assets-'));
  t.after(() => rm(folder, { recursive: true }));
  const files: Record<string, AssetFile> = {};
  for (const [name, text] of Object.entries(contents)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
    files[name] = {
      hash: hash(text),
      bytes: Buffer.byteLength(text),
      type: name.endsWith('.html') ? 'text/html;charset=utf-8' : 'application/octet-stream',
    };
  }
  const assets: AssetRules = { binding: null, notFoundHandling: 'none', runWorkerFirst: false, files, ...rules };
  const artifact: OpenArtifact = {
    id: 'a'.repeat(64),
    manifest: { assets } as unknown as Manifest,
    workerCode: () => null,
    sourceMap: () => null,
    assetFile: (path) => join(folder, path),
  };
  const server = createAssetServer(options.cacheBytesMax === undefined ? {} : { cacheBytesMax: options.cacheBytesMax });
  const listener = await openNodeListener({
    port: 0,
    host: '127.0.0.1',
    limits: defaultLimits,
    onExchange(exchange) {
      if (!server.serve(exchange, artifact, options.last ?? true)) exchange.send(200, '', 'worker');
    },
  });
  const client = await connectRaw(listener.port);
  t.after(async () => {
    client.socket.destroy();
    await listener.close();
  });
  return {
    folder,
    async get(target, headers = {}, method = 'GET') {
      client.send(
        `${method} ${target} HTTP/1.1\r\nHost: a\r\n${Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}\r\n`,
      );
      return client.response(method);
    },
  };
}

test('a file is answered with its type, a strong entity tag and revalidation, from disk and from memory', async (t) => {
  const { get } = await site(t);
  for (let round = 0; round < 2; round++) {
    const response = await get('/');
    assert.deepEqual([response.status, response.body], [200, '<h1>home</h1>']);
    assert.deepEqual(response.all('content-type'), ['text/html;charset=utf-8']);
    assert.deepEqual(response.all('etag'), [`"${hash('<h1>home</h1>')}"`]);
    assert.deepEqual(response.all('cache-control'), ['public, max-age=0, must-revalidate']);
    assert.deepEqual(response.all('content-length'), ['13']);
  }
});

test('a file with a hash in its name is immutable', async (t) => {
  const { get } = await site(t);
  assert.deepEqual((await get('/assets/app-BaX3k9_2.js')).all('cache-control'), ['public, max-age=31536000, immutable']);
});

test('a large file is streamed whole, and so is a part of it', async (t) => {
  const { get } = await site(t);
  const whole = await get('/big.bin');
  assert.deepEqual([whole.framing, whole.body === large], ['length', true]);
  const part = await get('/big.bin', { range: 'bytes=100000-299999' });
  assert.deepEqual([part.status, part.body.length, part.all('content-range')], [206, 200_000, ['bytes 100000-299999/300003']]);
  const tail = await get('/big.bin', { range: 'bytes=-3' });
  assert.deepEqual([tail.status, tail.body], [206, 'end']);
});

test('an empty file and one with letters beyond ASCII are answered', async (t) => {
  const { get } = await site(t);
  assert.deepEqual([(await get('/empty.txt')).status, (await get('/empty.txt')).body], [200, '']);
  assert.equal((await get('/%C3%BC%20b.txt')).body, 'umlaut');
});

test('HEAD has the length and no body', async (t) => {
  const { get } = await site(t);
  for (const [path, length] of [
    ['/', '13'],
    ['/big.bin', '300003'],
  ] as const) {
    const response = await get(path, {}, 'HEAD');
    assert.deepEqual([response.status, response.all('content-length')], [200, [length]]);
  }
});

test('what has not changed is answered 304, and a range is not applied to what has', async (t) => {
  const { get } = await site(t);
  const etag = `"${hash('<h1>home</h1>')}"`;
  const same = await get('/', { 'if-none-match': `"x", W/${etag}` });
  assert.deepEqual([same.status, same.all('etag')], [304, [etag]]);
  assert.equal((await get('/', { 'if-none-match': '"x"' })).status, 200);
  assert.equal((await get('/', { range: 'bytes=0-3', 'if-range': etag })).body, '<h1>');
  assert.equal((await get('/', { range: 'bytes=0-3', 'if-range': '"x"' })).status, 200);
});

test('a range beyond the file is answered 416 with its length', async (t) => {
  const { get } = await site(t);
  const response = await get('/', { range: 'bytes=13-' });
  assert.deepEqual([response.status, response.all('content-range'), response.body], [416, ['bytes */13'], '']);
});

test('other names of a page redirect to its own, with the query', async (t) => {
  const { get } = await site(t);
  const response = await get('/about.html?a=1&b=//x');
  assert.deepEqual([response.status, response.all('location')], [307, ['/about?a=1&b=//x']]);
  assert.deepEqual((await get('/%C3%BC%20b.txt/')).all('location'), ['/%C3%BC%20b.txt']);
});

test("what is not there is 404 without a worker, and the worker's with one", async (t) => {
  const alone = await site(t);
  for (const target of ['/none', '/../index.html', '/%2e%2e/index.html', '/..%2findex.html', '//index.html', '/__proto__']) {
    assert.equal((await alone.get(target)).status, 404, target);
  }
  assert.equal((await alone.get('/%zz')).status, 400);
  assert.equal((await alone.get('/a%00')).status, 400);
  const beside = await site(t, {}, { last: false });
  for (const target of ['/none', '/%zz']) assert.equal((await beside.get(target)).body, 'worker');
});

test('a single-page application answers navigations with its shell, and nothing else', async (t) => {
  const { get } = await site(t, { notFoundHandling: 'single-page-application' }, { last: false });
  const response = await get('/deep/link', { 'sec-fetch-mode': 'navigate' });
  assert.deepEqual([response.status, response.body], [200, '<h1>home</h1>']);
  assert.equal((await get('/api/x', { accept: 'application/json' })).body, 'worker');
});

test('a 404 page answers with its status', async (t) => {
  const { get } = await site(t, { notFoundHandling: '404-page' });
  const response = await get('/none');
  assert.deepEqual([response.status, response.body, response.all('etag')], [404, 'none here', []]);
});

test("methods that do not read are refused without a worker, and the worker's with one", async (t) => {
  const alone = await site(t);
  const response = await alone.get('/', {}, 'DELETE');
  assert.deepEqual([response.status, response.all('allow')], [405, ['GET, HEAD']]);
  assert.equal((await alone.get('/none', {}, 'DELETE')).status, 404);
  const beside = await site(t, {}, { last: false });
  assert.equal((await beside.get('/', {}, 'DELETE')).body, 'worker');
});

test('a file that is not what the manifest says is never sent', async (t) => {
  const { folder, get } = await site(t);
  await writeFile(join(folder, 'index.html'), '<h1>evil</h1>');
  await truncate(join(folder, 'big.bin'), 200_000);
  await rm(join(folder, 'about.html'));
  for (const target of ['/', '/big.bin', '/about']) assert.equal((await get(target)).status, 503, target);
});

test('the memory for small files is bounded, and what was dropped is read again', async (t) => {
  const { get } = await site(t, {}, { cacheBytesMax: 14 });
  for (let round = 0; round < 3; round++) {
    for (const [target, body] of [
      ['/', '<h1>home</h1>'],
      ['/about', 'about'],
      ['/assets/app-BaX3k9_2.js', 'app()'],
    ] as const) {
      assert.equal((await get(target)).body, body);
    }
  }
});

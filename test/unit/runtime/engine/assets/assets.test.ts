// Static files over a real listener and real files.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import type { AssetFile, AssetRules, Manifest } from '#core/manifest.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { createAssetServer } from '#runtime/engine/assets/assets.ts';
import { openNodeListener } from '#runtime/engine/http/listener-node.ts';
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
  'page.html': '',
};
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

const page = `<p>${'text '.repeat(500)}</p>`;
contents['page.html'] = page;
const encoded = { br: 'brotli bytes', gzip: 'gzip bytes' };

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
  const forms: Record<string, { hash: string; bytes: number }> = {};
  for (const [encoding, text] of Object.entries(encoded)) {
    await writeFile(join(folder, hash(text)), text);
    forms[encoding] = { hash: hash(text), bytes: text.length };
  }
  files['page.html'] = { ...files['page.html']!, encoded: forms };
  const assets: AssetRules = { binding: null, notFoundHandling: 'none', runWorkerFirst: false, files, ...rules };
  const artifact: OpenArtifact = {
    id: 'a'.repeat(64),
    manifest: { assets } as unknown as Manifest,
    size: 0,
    workerText: () => null,
    sourceMap: () => null,
    migrations: () => [],
    assetFile: (path) => join(folder, path),
    serverFile: () => '',
    encodedFile: (hash) => join(folder, hash),
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
        `${method} ${target} HTTP/1.1\r\nHost: a.test\r\n${Object.entries(headers)
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
  assert.deepEqual((await get('/assets/app-BaX3k9_2.js')).all('cache-control'), [
    'public, max-age=31536000, immutable',
  ]);
});

test('a large file is streamed whole, and so is a part of it', async (t) => {
  const { get } = await site(t);
  const whole = await get('/big.bin');
  assert.deepEqual([whole.framing, whole.body === large], ['length', true]);
  const part = await get('/big.bin', { range: 'bytes=100000-299999' });
  assert.deepEqual(
    [part.status, part.body.length, part.all('content-range')],
    [206, 200_000, ['bytes 100000-299999/300003']],
  );
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
  for (const target of [
    '/none',
    '/../index.html',
    '/%2e%2e/index.html',
    '/..%2findex.html',
    '//index.html',
    '/__proto__',
  ]) {
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
  for (const accept of ['application/json', '*/*']) assert.equal((await get('/api/x', { accept })).body, 'worker');
});

test('without a worker the shell answers clients that accept HTML, and no script that is gone', async (t) => {
  const { get } = await site(t, { notFoundHandling: 'single-page-application' });
  for (const headers of [{}, { accept: '*/*' }, { accept: 'text/html;q=0.8, image/png' }] as Record<string, string>[])
    assert.deepEqual(
      [(await get('/deep', headers)).status, (await get('/deep', headers)).body],
      [200, '<h1>home</h1>'],
    );
  for (const headers of [{ accept: 'application/json' }, { accept: '*/*', 'sec-fetch-mode': 'no-cors' }])
    assert.equal((await get('/assets/gone.js', headers)).status, 404);
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

test('a file with compressed forms is answered in the one the client wants most, each with its own entity tag', async (t) => {
  const { get } = await site(t);
  for (const [accepted, encoding, body] of [
    ['gzip, deflate, br, zstd', 'br', encoded.br],
    ['gzip', 'gzip', encoded.gzip],
    ['x-gzip;q=0.3', 'gzip', encoded.gzip],
    ['br;q=0.5, gzip;q=1.0', 'gzip', encoded.gzip],
    ['*', 'br', encoded.br],
    ['br;q=0, *;q=0.1', 'gzip', encoded.gzip],
    ['GZIP ; Q=1', 'gzip', encoded.gzip],
    ['identity;q=1, br;q=0.5', null, page],
    ['deflate', null, page],
    ['gzip;q=0', null, page],
    ['gzip;q=high', null, page],
    ['', null, page],
  ] as const) {
    const response = await get('/page', { 'accept-encoding': accepted });
    assert.deepEqual(
      [response.status, response.all('content-encoding'), response.body],
      [200, encoding === null ? [] : [encoding], body],
      accepted,
    );
    assert.deepEqual(response.all('vary'), ['accept-encoding']);
    assert.deepEqual(response.all('etag'), [`"${hash(body)}"`]);
    assert.deepEqual(response.all('content-length'), [String(body.length)]);
  }
  assert.deepEqual((await get('/page')).all('content-encoding'), []);
  assert.deepEqual((await get('/about')).all('vary'), []);
});

test('revalidation, HEAD and parts know the form they speak of', async (t) => {
  const { get } = await site(t);
  const br = { 'accept-encoding': 'br' };
  const same = await get('/page', { ...br, 'if-none-match': `"${hash(encoded.br)}"` });
  assert.deepEqual(
    [same.status, same.all('vary'), same.all('etag')],
    [304, ['accept-encoding'], [`"${hash(encoded.br)}"`]],
  );
  assert.equal((await get('/page', { ...br, 'if-none-match': `"${hash(page)}"` })).status, 200);
  const head = await get('/page', br, 'HEAD');
  assert.deepEqual(
    [head.all('content-encoding'), head.all('content-length'), head.all('accept-ranges')],
    [['br'], ['12'], []],
  );
  const part = await get('/page', { ...br, range: 'bytes=0-2' });
  assert.deepEqual(
    [part.status, part.body, part.all('content-encoding'), part.all('etag')],
    [206, '<p>', [], [`"${hash(page)}"`]],
  );
  assert.equal((await get('/page', { ...br, range: 'bytes=0-2', 'if-range': `"${hash(encoded.br)}"` })).status, 200);
});

test('several parts of a file come in one body, from memory and from disk', async (t) => {
  const { get } = await site(t);
  for (const target of ['/big.bin', '/page', '/page']) {
    const text = target === '/page' ? page : large;
    const response = await get(target, { range: 'bytes=0-4,1000-1009,-4' });
    const boundary = hash(text).slice(0, 32);
    assert.equal(response.status, 206);
    assert.deepEqual(response.all('content-type'), [`multipart/byteranges; boundary=${boundary}`]);
    assert.deepEqual([response.all('content-range'), response.framing], [[], 'length']);
    const part = (start: number, end: number): string =>
      `--${boundary}\r\ncontent-type: ${target === '/page' ? 'text/html;charset=utf-8' : 'application/octet-stream'}\r\ncontent-range: bytes ${start}-${end - 1}/${text.length}\r\n\r\n${text.slice(start, end)}\r\n`;
    assert.equal(
      response.body,
      `${part(0, 5)}${part(1000, 1010)}${part(text.length - 4, text.length)}--${boundary}--\r\n`,
    );
  }
});

test('an If-Match that names another state is answered 412', async (t) => {
  const { get } = await site(t);
  const etag = `"${hash('about')}"`;
  for (const [value, status] of [
    [etag, 200],
    ['*', 200],
    [`"x", ${etag}`, 200],
    ['"x"', 412],
    [`W/${etag}`, 412],
  ] as const) {
    assert.equal((await get('/about', { 'if-match': value })).status, status, value);
  }
});

test('header rules set, join and remove headers of files below their paths, and of nothing else', async (t) => {
  const { get } = await site(t, {
    headers: [
      {
        pattern: '/*',
        set: [
          ['x-frame-options', 'DENY'],
          ['cache-control', 'public, max-age=60'],
          ['vary', 'cookie'],
        ],
        remove: [],
      },
      {
        pattern: '/about',
        set: [
          ['x-a', '1'],
          ['x-b', 'b'],
        ],
        remove: ['x-frame-options', 'accept-ranges'],
      },
      { pattern: '/:page', set: [['x-a', 'is :page']], remove: [] },
      { pattern: 'https://:sub.test/*', set: [['x-sub', ':sub']], remove: [] },
      { pattern: 'https://b.test/*', set: [['x-never', '1']], remove: [] },
    ],
    redirects: [{ from: '/old', to: '/about', status: 301, force: false }],
    notFoundHandling: '404-page',
  });
  for (let round = 0; round < 2; round++) {
    const about = await get('/about');
    assert.deepEqual(about.all('x-a'), ['1, is about']);
    assert.deepEqual([about.all('x-b'), about.all('x-sub'), about.all('x-never')], [['b'], ['a'], []]);
    assert.deepEqual([about.all('x-frame-options'), about.all('accept-ranges')], [[], []]);
    assert.deepEqual(about.all('cache-control'), ['public, max-age=60']);
    const whole = await get('/page', { 'accept-encoding': 'br' });
    assert.deepEqual([whole.all('vary'), whole.all('x-frame-options')], [['accept-encoding, cookie'], ['DENY']]);
    const unchanged = await get('/about', { 'if-none-match': '*' });
    assert.deepEqual(
      [unchanged.status, unchanged.all('x-a'), unchanged.all('cache-control')],
      [304, ['1, is about'], ['public, max-age=60']],
    );
    assert.deepEqual((await get('/nowhere')).all('x-frame-options'), ['DENY']);
    assert.deepEqual((await get('/old')).all('x-frame-options'), []);
  }
  assert.deepEqual((await get('/%C3%BC%20b.txt')).all('x-a'), ['is %C3%BC b.txt']);
});

test('redirect rules come before files, the first that fits counts, and queries go along', async (t) => {
  const { get } = await site(t, {
    redirects: [
      { from: '/about', to: '/', status: 302, force: false },
      { from: '/old/*', to: '/new/:splat', status: 301, force: false },
      { from: '/old/exact', to: '/never', status: 302, force: false },
      { from: '/u/:name', to: 'https://x.test/:name?a=1#f', status: 308, force: false },
      { from: '/open/*', to: '/:splat', status: 302, force: false },
      { from: '/anchor', to: '/about#there', status: 307, force: false },
    ],
  });
  for (const [target, status, location] of [
    ['/about', 302, '/'],
    ['/about?q=1', 302, '/?q=1'],
    ['/old/a/b?x', 301, '/new/a/b?x'],
    ['/old/exact', 301, '/new/exact'],
    ['/u/a%2fb%20c?z=1', 308, null],
    ['/u/%C3%BC?z=1', 308, 'https://x.test/%C3%BC?a=1#f'],
    ['/open//evil.test', 302, '/evil.test'],
    ['/open/%5Cevil.test', 302, '/%5Cevil.test'],
    ['/open/a%0d%0ax:%20y', 302, '/a%0D%0Ax%3A%20y'],
    ['/anchor?q', 307, '/about?q#there'],
  ] as const) {
    const response = await get(target);
    if (location === null) assert.equal(response.status, 404, target);
    else assert.deepEqual([response.status, response.all('location')], [status, [location]], target);
  }
  assert.equal((await get('/old/a', {}, 'POST')).status, 301);
});

test('a rewrite answers with the file of another path, in place of a file only when it is forced', async (t) => {
  const { get } = await site(
    t,
    {
      redirects: [
        { from: '/app/*', to: '/index.html', status: 200, force: false },
        { from: '/about', to: '/page', status: 200, force: false },
        { from: '/empty.txt', to: '/about.html', status: 200, force: true },
        { from: '/x/:name', to: '/:name.txt', status: 200, force: false },
        { from: '/gone', to: '/nothing', status: 200, force: false },
      ],
      headers: [{ pattern: '/app/*', set: [['x-app', ':splat']], remove: [] }],
    },
    { last: false },
  );
  const deep = await get('/app/deep/link');
  assert.deepEqual([deep.status, deep.body, deep.all('x-app')], [200, '<h1>home</h1>', ['deep/link']]);
  assert.equal((await get('/about')).body, 'about');
  assert.equal((await get('/empty.txt')).body, 'about');
  assert.equal((await get('/x/%C3%BC%20b')).body, 'umlaut');
  assert.equal((await get('/x/..%2f..%2fsecret')).body, 'worker');
  assert.equal((await get('/gone')).body, 'worker');
});

// A built site as browsers ask for it: pages, client routes, hashed files, compressed forms, headers.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { openLog } from '#core/log/log.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { finishSite, inlineScripts } from '#web/serve/finish-site.ts';
import { listen, type Listener } from '#web/serve/listener.ts';
import { findFile, openSite } from '#web/serve/serve-site.ts';

const SCRIPT = 'document.documentElement.dataset.seen = "yes"';
const TEXT = 'body { color: black }\n'.repeat(100);
let folder = '';
let app: Listener;
let docs: Listener;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'platform-site-'));
  for (const [name, text] of [
    ['app/index.html', '<!doctype html><script type="module" src="/assets/main-1a2b.js"></script>'],
    ['app/assets/main-1a2b.js', TEXT],
    ['app/icon.png', 'png'],
    ['app/secret.env.br', 'not named'],
    ['docs/index.html', `<!doctype html><script>${SCRIPT}</script>`],
    ['docs/tutorial.html', '<!doctype html>tutorial'],
    ['docs/guides/index.html', '<!doctype html>guides'],
    ['docs/404.html', '<!doctype html>no such page'],
  ] as const) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  const isHashed = (name: string): boolean => name.startsWith('assets/');
  await finishSite(path.join(folder, 'app'), { fallback: 'index.html', isHashed });
  await finishSite(path.join(folder, 'docs'), { notFound: '404.html', isHashed, policy: { 'img-src': ['blob:'] } });
  app = await serve('app', false);
  docs = await serve('docs', true);
});
after(async () => {
  await Promise.all([app.close(), docs.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function serve(name: string, isHttps: boolean): Promise<Listener> {
  const site = await openSite(path.join(folder, name), isHttps);
  const log = openLog('test', { LOG_LEVEL: 'silent' });
  return listen({ host: '127.0.0.1', port: 0, variable: 'UI_PORT', log, answer: site.answer });
}

/** As it comes over the wire: nothing is decompressed, no dots are resolved. */
async function ask(
  { port }: Listener,
  at: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
  const sent = httpRequest({ port, path: at, headers, method }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(await answer.toArray()) };
}

test('paths of the client get its page, files that are not there do not', async () => {
  for (const at of ['/', '/projects/shop', '/projects/shop/deployments/?page=2']) {
    const { status, headers, body } = await ask(app, at);
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8']);
    assert.match(body.toString(), /^<!doctype html>/);
  }
  for (const at of ['/assets/main-9f9f.js', '/favicon.ico', '/secret.env', '/secret.env.br', '/site.json', '/%zz'])
    assert.equal((await ask(app, at)).status, 404, at);
});

test('pages have addresses without an ending, and what is not there a page of its own', async () => {
  assert.equal((await ask(docs, '/tutorial')).body.toString(), '<!doctype html>tutorial');
  assert.equal((await ask(docs, '/guides/')).body.toString(), '<!doctype html>guides');
  const missing = await ask(docs, '/nothing');
  assert.deepEqual([missing.status, missing.body.toString()], [404, '<!doctype html>no such page']);
});

test('a file with a hash in its name is kept for good, a page is asked for again with its tag', async () => {
  assert.equal(
    (await ask(app, '/assets/main-1a2b.js')).headers['cache-control'],
    'public, max-age=31536000, immutable',
  );
  const page = await ask(app, '/');
  assert.equal(page.headers['cache-control'], 'no-cache');
  const again = await ask(app, '/', { 'if-none-match': `"other", W/${page.headers.etag}` });
  assert.deepEqual([again.status, again.body.length], [304, 0]);
});

test('the smallest form that the browser takes is sent, with a tag of its own', async () => {
  const asked = async (accepted: string): Promise<unknown[]> => {
    const { headers, body } = await ask(app, '/assets/main-1a2b.js', { 'accept-encoding': accepted });
    const encoding = headers['content-encoding'];
    const text = encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body;
    assert.equal(text.toString(), TEXT);
    assert.equal(Number(headers['content-length']), body.length);
    return [encoding, headers['vary'], headers.etag!.slice(-5)];
  };
  assert.deepEqual((await asked('gzip, deflate, br')).slice(0, 2), ['br', 'accept-encoding']);
  assert.deepEqual((await asked('gzip;q=1.0, br;q=0'))[0], 'gzip');
  assert.deepEqual((await asked('identity'))[0], undefined);
  assert.notEqual((await asked('br'))[2], (await asked('gzip'))[2]);
});

test('no other site frames a page, and no script runs that is not a file of ours or known by its hash', async () => {
  const plain = (await ask(app, '/')).headers;
  assert.equal(
    plain['content-security-policy'],
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  assert.deepEqual(
    ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'strict-transport-security'].map(
      (name) => plain[name],
    ),
    ['nosniff', 'DENY', 'same-origin', undefined],
  );
  const written = (await ask(docs, '/')).headers;
  const [hash] = inlineScripts(`<script>${SCRIPT}</script>`);
  assert.ok(written['content-security-policy']!.includes(`script-src 'self' '${hash}'`));
  assert.ok(written['content-security-policy']!.includes("img-src 'self' data: blob:"));
  assert.equal(written['strict-transport-security'], 'max-age=63072000');
});

test('a site takes GET and HEAD', async () => {
  const head = await ask(app, '/', {}, 'HEAD');
  assert.deepEqual([head.status, head.body.length], [200, 0]);
  const post = await ask(app, '/', {}, 'POST');
  assert.deepEqual([post.status, post.headers['allow']], [405, 'GET, HEAD']);
});

test('whatever is asked for, only files that the manifest names are found', () => {
  const random = createSeededRandom();
  const parts = [
    '..',
    '.',
    '/',
    '%2e%2e',
    '%2f',
    '\\',
    'etc',
    'passwd',
    'index',
    '.html',
    '%00',
    '__proto__',
    'a',
    '%',
  ];
  const files = { 'index.html': { type: 'text/html', bytes: 1, etag: 'x' } };
  for (let i = 0; i < 20_000; i++) {
    const at = `/${random.text(parts, 6)}`;
    const found = findFile({ version: 1, files, fallback: 'index.html', notFound: null, policy: {} }, at);
    assert.ok(found === null || found.name === 'index.html', `${at} (FUZZ_SEED=${random.seed})`);
  }
});

test('a site adds no sources that open it to others', async () => {
  const other = path.join(folder, 'other');
  mkdirSync(other);
  writeFileSync(path.join(other, 'index.html'), 'x');
  await finishSite(other, { isHashed: () => false, policy: { 'frame-ancestors': ['*'] } });
  await assert.rejects(openSite(other, false), { message: 'A site cannot add sources to frame-ancestors' });
});

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

let handler: TestHandler;
const long = `<!doctype html>${'<p>again</p>'.repeat(200)}`;
const page = '<!doctype html><title>app</title>';

before(async () => {
  handler = await startHandler({
    site: {
      yaml: 'kind: static\nbuild: "true"\nout: dist\n',
      files: { 'dist/index.html': page, 'dist/about.html': 'about', 'dist/style.css': 'a{}' },
    },
    ruled: {
      yaml: 'kind: static\nbuild: "true"\nout: dist\n',
      files: {
        'dist/index.html': long,
        'dist/_headers': '/*\n  X-Frame-Options: DENY\n',
        'dist/_redirects': '/old/* /new/:splat 301\n/app/* / 200\n',
      },
    },
    spa: {
      yaml: 'kind: worker\nout: dist\nassets:\n  binding: ASSETS\n  not_found_handling: single-page-application\n  run_worker_first: ["/api/*"]\n',
      files: {
        'dist/index.html': page,
        'dist/data.bin': 'x'.repeat(200_000),
        'src/index.ts': `export default { async fetch(request, env) {
          const { pathname } = new URL(request.url);
          if (pathname === '/api/asset') return env.ASSETS.fetch(new URL('/data.bin', request.url));
          if (pathname === '/api/missing') return env.ASSETS.fetch('http://any.host/nothing.txt');
          return new Response('worker ' + pathname);
        } };`,
      },
    },
    rescued: {
      yaml: 'kind: worker\nout: dist\nassets:\n  run_worker_first: true\n',
      files: {
        'dist/index.html': page,
        'src/index.ts': `export default { async fetch(request, env, ctx) { ctx.passThroughOnException(); throw new Error('down'); } };`,
      },
    },
  });
});
after(() => handler.close());

test('a static project is served without a worker', async () => {
  const index = await handler.fetch('site');
  assert.equal(index.status, 200);
  assert.equal(index.headers['content-type'], 'text/html; charset=utf-8');
  assert.equal(index.text, page);
  assert.equal((await handler.fetch('site', '/about')).text, 'about');
  assert.equal((await handler.fetch('site', '/style.css')).headers['content-type'], 'text/css; charset=utf-8');
  assert.equal((await handler.fetch('site', '/nothing')).status, 404);
  assert.equal((await handler.fetch('site', '/', { method: 'POST' })).status, 405);
});

test('an unchanged file answers 304', async () => {
  const { headers } = await handler.fetch('site');
  const again = await handler.fetch('site', '/', { headers: { 'if-none-match': headers.etag as string } });
  assert.equal(again.status, 304);
  assert.equal(again.text, '');
});

test('files come before the worker, run_worker_first turns that round, and navigations fall back to the page', async () => {
  assert.equal((await handler.fetch('spa', '/data.bin')).body.byteLength, 200_000);
  assert.equal((await handler.fetch('spa', '/api/x')).text, 'worker /api/x');
  assert.equal((await handler.fetch('spa', '/some/route', { headers: { accept: 'text/html' } })).text, page);
  assert.equal((await handler.fetch('spa', '/some/route')).text, 'worker /some/route');
});

test('the asset binding answers what the asset layer would', async () => {
  const file = await handler.fetch('spa', '/api/asset');
  assert.equal(file.status, 200);
  assert.equal(file.text, 'x'.repeat(200_000));
  assert.equal((await handler.fetch('spa', '/api/missing')).text, page);
});

test('passThroughOnException answers from the files when the worker throws', async () => {
  const response = await handler.fetch('rescued');
  assert.equal(response.status, 200);
  assert.equal(response.text, page);
  assert.match((await handler.logged('rescued', /down/)).text, /^Uncaught Error: down/);
});

test('a built site is served compressed, with its own headers and redirects', async () => {
  const br = await handler.fetch('ruled', '/', { headers: { 'accept-encoding': 'gzip, deflate, br' } });
  assert.equal(br.headers['content-encoding'], 'br');
  assert.equal(br.headers['x-frame-options'], 'DENY');
  assert.equal(br.headers['vary'], 'accept-encoding');
  assert.equal(brotliDecompressSync(br.body).toString(), long);
  const gzip = await handler.fetch('ruled', '/app/any', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(gunzipSync(gzip.body).toString(), long);
  assert.notEqual(gzip.headers.etag, br.headers.etag);
  assert.equal((await handler.fetch('ruled', '/')).text, long);
  const moved = await handler.fetch('ruled', '/old/a?b=c');
  assert.deepEqual([moved.status, moved.headers.location], [301, '/new/a?b=c']);
  for (const path of ['/_headers', '/_redirects']) assert.equal((await handler.fetch('ruled', path)).status, 404);
});

// What visitors see when the platform answers instead of a site: a page in browsers, JSON elsewhere.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHandler, type TestHandler, type TestResponse } from '#test/setup/handler.ts';

const html = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'sec-fetch-mode': 'navigate',
};
const worker = `export default { async fetch(request, env) {
  const { pathname } = new URL(request.url);
  if (pathname === '/throw') throw new Error('secret reason');
  if (pathname === '/slow') await scheduler.wait(60_000);
  if (pathname === '/own') return new Response('own', { status: 500 });
  return new Response('ok');
} };`;
const ownPages = `assets:
  error_pages:
    404: /missing.html
    500: /500.html
`;

let handler: TestHandler;
before(async () => {
  handler = await startHandler(
    {
      app: worker,
      branded: {
        files: {
          'src/index.ts': worker,
          'public/500.html': '<h1>Our fault</h1>',
          'public/missing.html': '<h1>Gone fishing</h1>',
          'public/_headers': '/500.html\n  x-brand: yes\n',
        },
        yaml: ownPages,
      },
      site: { files: { 'index.html': 'home' }, yaml: '' },
      fishing: {
        files: { 'index.html': 'home', 'missing.html': '<h1>Gone fishing</h1>', '500.html': 'x' },
        yaml: ownPages,
      },
    },
    { wallMs: 2000 },
  );
});
after(() => handler.close());

const titleOf = ({ text }: TestResponse): string | undefined => /<h1>(.*?)<\/h1>/.exec(text)?.[1];
const policy = /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'none'$/;

test('a failed request is a page for a browser, with the id of its log line, and JSON for programs', async () => {
  const page = await handler.fetch('app', '/throw', { headers: html });
  assert.deepEqual([page.status, titleOf(page)], [500, 'Something went wrong']);
  assert.equal(page.headers['content-type'], 'text/html;charset=utf-8');
  assert.match(String(page.headers['content-security-policy']), policy);
  assert.deepEqual(
    [page.headers['cache-control'], page.headers['x-platform-error'], page.headers['x-content-type-options']],
    ['no-store', 'worker_threw', 'nosniff'],
  );
  const { invocation } = handler.requests.at(-1)!;
  assert.equal(page.headers['x-request-id'], invocation);
  assert.ok(page.text.includes(`Request ID: <code>${invocation}</code>`));
  assert.doesNotMatch(page.text, /secret|worker|isolate|platform/i);

  for (const headers of [
    {},
    { accept: '*/*' },
    { accept: 'application/json' },
    { ...html, 'sec-fetch-mode': 'cors' },
  ]) {
    const answer = await handler.fetch('app', '/throw', { headers });
    assert.deepEqual(answer.json(), { error: 'The worker threw', code: 'worker_threw' });
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.equal(answer.headers['content-security-policy'], undefined);
  }
  assert.equal(titleOf(await handler.fetch('app', '/slow', { headers: html })), 'The site took too long');
  assert.equal((await handler.fetch('app', '/own', { headers: html })).text, 'own');
});

test('HEAD has the head of the page and no body', async () => {
  const whole = await handler.fetch('nobody', '/', { headers: html });
  const head = await handler.fetch('nobody', '/', { method: 'HEAD', headers: html });
  assert.deepEqual([head.status, head.text], [404, '']);
  assert.equal(head.headers['content-length'], whole.headers['content-length']);
  assert.equal((await handler.fetch('app', '/throw', { method: 'HEAD', headers: html })).text, '');
});

test('a host without a site is a page that says nothing of the platform, and JSON with the host for programs', async () => {
  const page = await handler.fetch('nobody', '/', { headers: html });
  assert.deepEqual([page.status, titleOf(page)], [404, 'Site not found']);
  assert.match(String(page.headers['content-security-policy']), policy);
  assert.doesNotMatch(page.text, /nobody|deploy|<code>/);
  const answer = await handler.fetch('nobody');
  assert.deepEqual(answer.json(), {
    error: 'No deployment is served at nobody.localhost',
    code: 'host_not_found',
  });
});

test('a path without a file is a page for browsers, and text for others', async () => {
  const page = await handler.fetch('site', '/none', { headers: html });
  assert.deepEqual([page.status, titleOf(page)], [404, 'Page not found']);
  assert.match(String(page.headers['content-security-policy']), policy);
  const text = await handler.fetch('site', '/none');
  assert.deepEqual(
    [text.status, text.headers['content-type'], text.text],
    [404, 'text/plain;charset=utf-8', 'Not found\n'],
  );
  const post = await handler.fetch('site', '/', { method: 'POST', headers: html });
  assert.deepEqual([post.status, post.headers.allow, titleOf(post)], [405, 'GET, HEAD', 'Method not allowed']);
});

test('markup in a host, a path, a query or an id reaches no page', async () => {
  const bad = '"><img src=x onerror=alert(1)>';
  const encoded = encodeURIComponent(bad);
  for (const [project, path] of [
    ['nobody', `/${bad.replaceAll(' ', '')}`],
    ['nobody', `/${encoded}?q=${encoded}`],
    ['site', `/${encoded}?q=${encoded}`],
    ['site', `/%E0%A4%A?${encoded}`],
    ['app', `/throw?q=${encoded}`],
  ] as const) {
    const page = await handler.fetch(project, path, { headers: { ...html, 'x-request-id': bad, referer: bad } });
    assert.ok(page.status >= 400, `${path} ${page.status}`);
    assert.doesNotMatch(page.text, /onerror|<img|alert/, path);
    assert.doesNotMatch(JSON.stringify(page.headers), /onerror/);
  }
});

test('a project has pages of its own: with the status and the headers of the error, for browsers', async () => {
  const page = await handler.fetch('branded', '/throw', { headers: html });
  assert.deepEqual([page.status, page.text], [500, '<h1>Our fault</h1>']);
  assert.deepEqual(
    [page.headers['x-platform-error'], page.headers['cache-control'], page.headers['x-brand'], page.headers['etag']],
    ['worker_threw', 'no-store', 'yes', undefined],
  );
  assert.equal(page.headers['x-request-id'], handler.requests.at(-1)!.invocation);
  assert.equal(handler.requests.at(-1)!.status, 500);
  const part = await handler.fetch('branded', '/throw', { headers: { ...html, range: 'bytes=0-1' } });
  assert.deepEqual([part.status, part.text], [500, '<h1>Our fault</h1>']);
  const head = await handler.fetch('branded', '/throw', { method: 'HEAD', headers: html });
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [500, '18', '']);
  assert.deepEqual((await handler.fetch('branded', '/throw')).json(), {
    error: 'The worker threw',
    code: 'worker_threw',
  });
  // No page for this status; its own answers, and the worker's paths.
  assert.equal(titleOf(await handler.fetch('branded', '/slow', { headers: html })), 'The site took too long');
  assert.equal((await handler.fetch('branded', '/own', { headers: html })).text, 'own');
  assert.equal((await handler.fetch('branded', '/none', { headers: html })).text, 'ok');
});

test('a site has a page of its own for missing files, under any name', async () => {
  const page = await handler.fetch('fishing', '/none', { headers: html });
  assert.deepEqual([page.status, page.text], [404, '<h1>Gone fishing</h1>']);
  assert.equal((await handler.fetch('fishing', '/none')).text, '<h1>Gone fishing</h1>');
  const script = await handler.fetch('fishing', '/none.js', {
    headers: { ...html, accept: '*/*', 'sec-fetch-mode': 'no-cors' },
  });
  assert.deepEqual([script.status, script.text], [404, 'Not found\n']);
});

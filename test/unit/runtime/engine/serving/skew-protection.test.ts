// Whose page a request is of, and which files are the same whoever has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestedDeployment, isContentName } from '#runtime/engine/serving/skew-protection.ts';

const a = 'daaaaaaaaaaaa';
const b = 'dbbbbbbbbbbbb';
const c = 'dcccccccccccc';
const cookie = `theme=dark; __dpl=${a}`;
const page = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-origin', cookie };
const data = { 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin', cookie };

/** The deployment, `page` for a page of its own, `none`. */
function asked(headers: Readonly<Record<string, string>>, target = '/', method = 'GET'): string {
  const found = requestedDeployment({ method, target, header: (name) => headers[name] ?? null });
  return found === null ? 'none' : found.deployment === '' ? 'page' : found.deployment;
}

test('the header goes before the query, the query before the cookie', () => {
  assert.equal(asked({ ...data, 'x-deployment-id': b }, `/x?dpl=${c}`), b);
  assert.equal(asked(data, `/x?y=1&dpl=${c}`), c);
  assert.equal(asked(data), a);
});

test('what cannot be a deployment id says nothing: the next one counts', () => {
  for (const id of ['', 'build-1', a.toUpperCase(), `${a}a`, '../x'])
    assert.equal(asked({ ...data, 'x-deployment-id': id }, `/x?dpl=${id}`), a, id);
  assert.equal(asked(data, `/x?adpl=${c}`), a);
  assert.equal(asked({ ...data, cookie: '__dpl=build-1' }), 'none');
});

const cases: readonly (readonly [what: string, expected: string, headers: Record<string, string>, method?: string])[] =
  [
    ['a page', 'page', page],
    ['a page, whatever its address says', 'page', { ...page, 'x-deployment-id': b }],
    ['a page that is fetched ahead', a, { ...page, 'sec-purpose': 'prefetch;prerender' }],
    [
      'a page that is fetched ahead before there is a cookie',
      'page',
      { ...page, cookie: '', 'sec-purpose': 'prefetch' },
    ],
    ['a form of the page', a, page, 'POST'],
    ['a form of another site', 'none', { ...page, 'sec-fetch-site': 'cross-site' }, 'POST'],
    ['a frame in the page', a, { ...page, 'sec-fetch-dest': 'iframe' }],
    ['a script', a, { ...data, 'sec-fetch-dest': 'script' }],
    ['a server function', a, data, 'POST'],
    ['a request of a page of another host', 'none', { ...data, 'sec-fetch-site': 'same-site' }],
    ['an update of a service worker', 'none', { ...data, 'sec-fetch-dest': 'serviceworker' }],
    ['a WebSocket', 'none', { ...data, 'sec-fetch-dest': 'websocket', upgrade: 'websocket' }],
    ['a WebSocket that says whose it is', b, { ...data, 'x-deployment-id': b, upgrade: 'websocket' }],
    // Over plain http browsers send no sec-fetch headers, except to localhost.
    ['a page over plain http', 'page', { accept: 'text/html,*/*', cookie }],
    ['a script over plain http', a, { accept: '*/*', cookie }],
    ['a form over plain http', a, { accept: 'text/html,*/*', cookie }, 'POST'],
    ['a program', 'none', { accept: '*/*' }],
  ];
for (const [what, expected, headers, method] of cases)
  test(`${what}: ${expected === a ? 'the deployment of the cookie' : expected}`, () => {
    assert.equal(asked(headers, '/', method), expected);
  });

test('names that bundlers give by content count, in folders only; names of people do not', () => {
  for (const path of [
    '/assets/index-DiwrgTda.js',
    '/assets/index-BQ3x9zKd.css',
    '/_next/static/chunks/4bd1b696-c023c6e3521b1417.js',
    '/_app/immutable/chunks/Dq0kVsWn.js',
    '/_nuxt/entry.Bz2pQ8xY.js',
    '/_astro/index.DfT0kQxY.css',
  ])
    assert.ok(isContentName(path), path);
  for (const path of ['/secret.pdf', '/app-DiwrgTda.js', '/docs/guide-typescript.js', '/a/report-20261124.pdf', '/x/y'])
    assert.equal(isContentName(path), false, path);
});

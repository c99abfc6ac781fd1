// Paths, HTML names, patterns, conditions and ranges of static files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AssetFile, AssetRules } from '#core/manifest.ts';
import { noneMatch, requestedRange } from '#runtime/engine/assets/asset-conditions.ts';
import {
  assetDecision,
  assetTarget,
  decodedPath,
  globMatches,
  isHashedName,
  isNavigation,
  keysOf,
  notFoundPage,
} from '#runtime/engine/assets/asset-rules.ts';

const file: AssetFile = { hash: '', bytes: 0, type: '' };
const files = (...names: string[]): AssetRules['files'] => Object.fromEntries(names.map((name) => [name, file]));
const request = (target: string, headers: Record<string, string> = {}, method = 'GET') => ({
  method,
  target,
  header: (name: string) => headers[name] ?? null,
});

test('paths are decoded, and those that cannot be a file are none', () => {
  assert.equal(decodedPath('/a%20b/%C3%BC?x=%zz'), '/a b/ü');
  assert.equal(decodedPath('/a#b'), '/a');
  for (const bad of ['/%', '/%zz', '/%C3', '/%ff', '/%ed%a0%80', '/a%00b', '/a\0b'])
    assert.equal(decodedPath(bad), null);
});

test('decoding never throws, and agrees with the platform where both decode', () => {
  const seed = Date.now() % 2 ** 32;
  console.log(`seed ${seed}`);
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const letters = ['%', '2', 'f', 'F', 'e', '.', '/', '\\', 'c', '3', 'a', '0', 'ü', '?', '#', '\0', ' '];
  const known = files('index.html', 'a.html', 'c/index.html', '__proto__x', '..a');
  for (let round = 0; round < 20_000; round++) {
    const path = `/${Array.from({ length: random(12) }, () => letters[random(letters.length)]).join('')}`;
    const got = decodedPath(path);
    let expected: string | null;
    try {
      expected = decodeURIComponent(path.split(/[?#]/)[0]!);
      if (expected.includes('\0')) expected = null;
    } catch {
      expected = null;
    }
    assert.equal(got, expected, `seed ${seed}, path ${JSON.stringify(path)}`);
    if (got === null) continue;
    const found = assetTarget(keysOf(known), got);
    if (found !== null && 'file' in found) assert.ok(Object.hasOwn(known, found.file));
    if (found !== null && 'redirect' in found) assert.match(found.redirect, /^\/(?!\/)/);
  }
});

test('HTML answers on its name, folders with a slash, and the other forms redirect there', () => {
  const site = files(
    'index.html',
    'about.html',
    'blog/index.html',
    'both.html',
    'both/index.html',
    'raw',
    'raw.html',
    'logo.svg',
    '404.html',
  );
  const expected: Record<string, unknown> = {
    '/': { file: 'index.html' },
    '/index.html': { redirect: '/' },
    '/index': { redirect: '/' },
    '/about': { file: 'about.html' },
    '/about.html': { redirect: '/about' },
    '/about/': { redirect: '/about' },
    '/about/index': { redirect: '/about' },
    '/about/index.html': { redirect: '/about' },
    '/blog': { redirect: '/blog/' },
    '/blog/': { file: 'blog/index.html' },
    '/blog/index': { redirect: '/blog/' },
    '/blog/index.html': { redirect: '/blog/' },
    '/blog.html': { redirect: '/blog/' },
    '/blog.html.html': null,
    '/logo.svg.html': null,
    '/.html': null,
    '/both': { file: 'both.html' },
    '/both/': { file: 'both/index.html' },
    '/raw': { file: 'raw' },
    '/raw.html': { file: 'raw.html' },
    '/logo.svg': { file: 'logo.svg' },
    '/logo.svg/': { redirect: '/logo.svg' },
    '/404': { file: '404.html' },
    '/none': null,
    '//about': null,
    '//': null,
    '/blog//': null,
    '/../index.html': null,
    '/__proto__': null,
    '/constructor': null,
    '/About': null,
  };
  for (const [path, target] of Object.entries(expected))
    assert.deepEqual(assetTarget(keysOf(site), path), target, path);
});

test('a key that leaves the folder is no file, whoever wrote the manifest', () => {
  for (const key of ['../secret', 'a/../../b', './a', '/etc/passwd', 'a//b', 'a\\b', '..'])
    assert.equal(assetTarget(keysOf(files(key)), `/${key}`), null, key);
  assert.deepEqual(assetTarget(keysOf(files('..a/...b')), '/..a/...b'), { file: '..a/...b' });
});

test('the nearest 404 page above a path answers', () => {
  const site = files('404.html', 'blog/404.html');
  assert.equal(notFoundPage(keysOf(site), '/x/y/z'), '404.html');
  assert.equal(notFoundPage(keysOf(site), '/blog/a/b'), 'blog/404.html');
  assert.equal(notFoundPage(keysOf(files('a.html')), '/x'), null);
});

test('run_worker_first decides by pattern, exclusions win, and encoded letters do not help', () => {
  const rules = (runWorkerFirst: AssetRules['runWorkerFirst']): AssetRules => ({
    binding: null,
    notFoundHandling: 'none',
    runWorkerFirst,
    files: {},
  });
  assert.equal(assetDecision(rules(false), request('/a')), 'asset');
  assert.equal(assetDecision(rules(true), request('/a')), 'worker');
  assert.equal(assetDecision(rules([]), request('/a')), 'asset');
  const patterns = rules(['/api/*', '!/api/docs/*', '/exact']);
  const expected: Record<string, string> = {
    '/api/users': 'worker',
    '/api/': 'worker',
    '/api': 'asset',
    '/api/docs/a.html': 'asset',
    '/%61pi/users': 'worker',
    '/exact?x=1': 'worker',
    '/exact/more': 'asset',
    '/other': 'asset',
    '/%zz': 'worker',
  };
  for (const [target, decision] of Object.entries(expected))
    assert.equal(assetDecision(patterns, request(target)), decision, target);
  assert.equal(assetDecision(rules(false), request('/a', {}, 'POST')), 'worker');
  assert.equal(assetDecision(rules(false), request('/a', {}, 'HEAD')), 'asset');
});

test('a star in a pattern stands for any characters, and many of them end soon', () => {
  assert.ok(globMatches('/a/*/c', '/a/b/b/c'));
  assert.ok(globMatches('*', '/anything'));
  assert.ok(globMatches('/a.b', '/a.b'));
  assert.ok(!globMatches('/a.b', '/axb'));
  assert.ok(!globMatches(`${'*a'.repeat(30)}b`, 'a'.repeat(2000)));
});

test('navigations are told by Sec-Fetch-Mode, else by Accept', () => {
  assert.ok(isNavigation(request('/', { 'sec-fetch-mode': 'navigate' })));
  assert.ok(!isNavigation(request('/', { 'sec-fetch-mode': 'cors', accept: 'text/html' })));
  assert.ok(isNavigation(request('/', { accept: 'text/html,*/*' })));
  assert.ok(!isNavigation(request('/', { accept: '*/*' })));
});

test('only names with a hash are cached for ever', () => {
  for (const name of [
    'assets/index-BaX3k9_2.js',
    'assets/index-BaX3k9_2.js.map',
    'app.3f2a9b1c.css',
    'main-0123456789abcdef0123.js',
    'chunks/chunk-ABCD2345.js',
    '_app/immutable/x.js',
  ]) {
    assert.ok(isHashedName(name), name);
  }
  for (const name of [
    'index.html',
    'my-document.pdf',
    'report-20240101.pdf',
    'app-version12.js',
    'iPhone14.png',
    'fade-deadbeef.js',
    'a-b.js',
  ]) {
    assert.ok(!isHashedName(name), name);
  }
});

test('If-None-Match compares lists weakly', () => {
  for (const value of ['"a"', 'W/"a"', '"x", W/"a"', '*', ' "b","a" ']) assert.ok(noneMatch(value, '"a"'), value);
  for (const value of ['', 'a', '"b"', '"a', 'W/"b", "c"']) assert.ok(!noneMatch(value, '"a"'), value);
});

test('ranges are parts, what cannot be is unsatisfiable, everything else is the whole', () => {
  const range = (value: string | null, ifRange: string | null = null, bytes = 10) =>
    requestedRange(value, ifRange, '"a"', bytes);
  const parts = (...pairs: [number, number][]) => ({
    kind: 'parts',
    parts: pairs.map(([start, end]) => ({ start, end })),
  });
  assert.deepEqual(range('bytes=0-3'), parts([0, 4]));
  assert.deepEqual(range('bytes=4-'), parts([4, 10]));
  assert.deepEqual(range('bytes=-3'), parts([7, 10]));
  assert.deepEqual(range('bytes=-99'), parts([0, 10]));
  assert.deepEqual(range('bytes=8-99'), parts([8, 10]));
  for (const value of ['bytes=10-', 'bytes=99-100', 'bytes=-0', 'bytes=10-, 20-30'])
    assert.deepEqual(range(value), { kind: 'unsatisfiable' }, value);
  for (const value of [
    null,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=3-1',
    'bytes=0-1,',
    'lines=0-1',
    'bytes=a-b',
    'bytes=1.5-2',
    'bytes=0-1,4-3',
  ]) {
    assert.deepEqual(range(value), { kind: 'whole' }, String(value));
  }
  assert.equal(range('bytes=0-3', '"a"').kind, 'parts');
  for (const ifRange of ['W/"a"', '"b"', 'Thu, 01 Jan 1970 00:00:00 GMT'])
    assert.equal(range('bytes=0-3', ifRange).kind, 'whole');
});

test('several ranges are parts in the order of the file, joined where they overlap or nearly touch, and only so many', () => {
  const range = (value: string) => requestedRange(value, null, '"a"', 1000);
  const parts = (...pairs: [number, number][]) => ({
    kind: 'parts',
    parts: pairs.map(([start, end]) => ({ start, end })),
  });
  assert.deepEqual(range('bytes=500-509, 0-9 ,-10'), parts([0, 10], [500, 510], [990, 1000]));
  assert.deepEqual(range('bytes=0-9,5-19,50-59'), parts([0, 60]));
  assert.deepEqual(range('bytes=0-999,3-4'), parts([0, 1000]));
  assert.deepEqual(range('bytes=0-9,2000-'), parts([0, 10]));
  assert.deepEqual(
    range(`bytes=${Array.from({ length: 16 }, (_, index) => `${index}-${index}`).join()}`),
    parts([0, 16]),
  );
  assert.deepEqual(range(`bytes=${Array.from({ length: 17 }, (_, index) => `${index}-${index}`).join()}`), {
    kind: 'whole',
  });
});

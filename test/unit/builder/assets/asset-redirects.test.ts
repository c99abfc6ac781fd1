// builder/assets/asset-redirects.ts: `_redirects` as rules, and what is wrong with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRedirects } from '#builder/assets/asset-redirects.ts';
import type { BuildError } from '#builder/project/build-error.ts';

const parse = (text: string): unknown => parseRedirects({ text, file: '_redirects' });

function problemsOf(text: string): string[] {
  try {
    parse(text);
  } catch (error) {
    const first = error as BuildError;
    return [first, ...first.others].map(({ place, message }) => `${place!.line} ${message}`);
  }
  return [];
}

test('a line is a source, a target and a status, 302 without one', () => {
  assert.deepEqual(
    parse(
      '# moved\n/a /b\n/c\thttps://example.com/d?x=1#y   301 # why\n/blog/* /news/:splat 308\n/:y/:m /p?y=:y&m=:m 303\n/app/* /index.html 200\n/new/* /x 200!\n',
    ),
    [
      { from: '/a', to: '/b', status: 302, force: false },
      { from: '/c', to: 'https://example.com/d?x=1#y', status: 301, force: false },
      { from: '/blog/*', to: '/news/:splat', status: 308, force: false },
      { from: '/:y/:m', to: '/p?y=:y&m=:m', status: 303, force: false },
      { from: '/app/*', to: '/index.html', status: 200, force: false },
      { from: '/new/*', to: '/x', status: 200, force: true },
    ],
  );
});

test('everything that means nothing is said with its line, all of it at once', () => {
  const text = [
    '/a',
    'https://a.example/* /b',
    'a /b',
    '/a?x=1 /b',
    '/a b=:b /c',
    '/a /b 404',
    '/a /b 301 Country=de',
    '/*/* /b',
    '/a //evil.example',
    '/a https://example.com 200',
    '/a /:b',
    '/a /a',
    '/a ftp://x',
  ].join('\n');
  assert.deepEqual(problemsOf(text), [
    '1 A redirect needs a source and a target, and optionally a status',
    '2 The source of a redirect must be a path: redirects of whole hosts are not supported',
    '3 The source "a" does not begin with /',
    '4 The source "/a?x=1" contains a query or a fragment: only paths are matched',
    '5 Query parameters in the source are not supported',
    '6 The status "404" is not one of 200, 301, 302, 303, 307, 308',
    '7 "Country=de" after the status is not supported',
    '8 The source "/*/*" is not a valid pattern: it has * twice',
    '9 The target "//evil.example" is neither a path with a single leading / nor an http(s) URL',
    '10 The target "https://example.com" is not a path of this site: the status 200 serves one of its own files',
    '11 The target "/:b" uses :b, which the source does not have',
    '12 "/a" redirects to itself',
    '13 The target "ftp://x" is neither a path with a single leading / nor an http(s) URL',
  ]);
});

test('a port in a target is no placeholder', () => {
  assert.deepEqual(parse('/a http://localhost:3000/b'), [
    { from: '/a', to: 'http://localhost:3000/b', status: 302, force: false },
  ]);
});

test('the bounds are 2000 rules without wildcards, 100 with them, and 1000 characters a line', () => {
  const lines = (count: number, make: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => make(index)).join('\n');
  const all = `${lines(2000, (index) => `/${index} /x`)}\n${lines(100, (index) => `/${index}/* /x`)}`;
  assert.equal((parse(all) as unknown[]).length, 2100);
  assert.deepEqual(problemsOf(`${all}\n/last /x\n/last/* /x`), [
    '2101 There are more than 2000 redirects without placeholders',
    '2102 There are more than 100 redirects with placeholders or *',
  ]);
  assert.deepEqual(problemsOf(`/a /${'b'.repeat(1000)}`), ['1 The line has 1004 characters; 1000 are allowed']);
});

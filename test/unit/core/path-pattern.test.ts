// core/path-pattern.ts: what patterns of _headers and _redirects match, and what their wildcards stand for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillPlaceholders, matchPattern, parsePathPattern } from '#core/path-pattern.ts';

const match = (pattern: string, path: string, delimiter?: string): unknown =>
  matchPattern(parsePathPattern(pattern), path, delimiter);

test('a pattern without wildcards matches itself, escapes decoded', () => {
  assert.deepEqual(match('/a', '/a'), {});
  assert.deepEqual(match('/a%20b', '/a b'), {});
  assert.equal(match('/a', '/a/'), null);
});

test('a placeholder is one or more characters of one segment', () => {
  assert.deepEqual(match('/blog/:slug', '/blog/hello'), { slug: 'hello' });
  assert.equal(match('/blog/:slug', '/blog/'), null);
  assert.equal(match('/blog/:slug', '/blog/a/b'), null);
  assert.equal(match('/blog/:slug', '/x/blog/a'), null);
  assert.deepEqual(match('/:a/x/:b', '/1/x/2'), { a: '1', b: '2' });
  assert.deepEqual(match('/:year-:month.html', '/2026-01.html'), { year: '2026', month: '01' });
  assert.deepEqual(match('/:a-:b', '/x-y-z'), { a: 'x-y', b: 'z' });
});

test('a splat is any number of characters, also none, and may have something after it', () => {
  assert.deepEqual(match('/*', '/'), { splat: '' });
  assert.deepEqual(match('/a/*', '/a/b/c'), { splat: 'b/c' });
  assert.equal(match('/a/*', '/a'), null);
  assert.deepEqual(match('/*.jpg', '/x/y.jpg.jpg'), { splat: 'x/y.jpg' });
  assert.deepEqual(match('/:lang/*/:last', '/en/a/b/c'), { lang: 'en', splat: 'a/b', last: 'c' });
  assert.equal(match('/ab*ba', '/aba'), null);
});

test('hosts have a dot for a delimiter', () => {
  assert.deepEqual(match('https://:sub.example.dev', 'https://a.example.dev', '.'), { sub: 'a' });
  assert.equal(match('https://:sub.example.dev', 'https://a.b.example.dev', '.'), null);
});

test('patterns that say nothing clear are refused', () => {
  for (const [pattern, message] of [
    ['/*/*', 'it has * twice'],
    ['/:a/:a', 'it has :a twice'],
    ['/:a:b', ':b needs text before it'],
    ['/*:b', ':b needs text before it'],
    ['/:splat', 'a placeholder cannot be called :splat, which stands for *'],
    ['/%zz', '"/%zz" contains a malformed % escape'],
  ] as const) {
    assert.throws(() => parsePathPattern(pattern), { message }, pattern);
  }
});

test('placeholders of a text are filled in, unknown ones stay', () => {
  const values = matchPattern(parsePathPattern('/:a/*'), '/1 2/x')!;
  assert.equal(fillPlaceholders('/to/:splat/:a/:other', values, encodeURIComponent), '/to/x/1%202/:other');
});

test('a long path against many placeholders is decided at once', () => {
  const pattern = `/${Array.from({ length: 50 }, (_, index) => `:p${index}-`).join('')}x`;
  assert.equal(match(pattern, `/${'-'.repeat(16_000)}`), null);
  assert.equal(match(pattern, `/${'a-'.repeat(8000)}`), null);
});

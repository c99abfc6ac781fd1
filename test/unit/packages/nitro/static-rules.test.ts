// packages/nitro/static-rules: headers of route rules as a _headers file that the builder reads.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseHeaders } from '#builder/assets/asset-headers.ts';
import { headersOf, writeRules } from '#packages/nitro/static-rules.mjs';
import { projectFolder } from '../../builder/project-folder.ts';

const routeRules = {
  '/_nuxt/builds/**': { headers: { 'cache-control': 'max-age=1' } },
  '/about': { headers: { 'x-one': '1', 'x-two': '2' }, prerender: true },
  '/empty': { headers: {} },
  '/old': { redirect: { to: '/about', statusCode: 301 } },
  '/_nuxt/**': { headers: { 'cache-control': 'immutable' } },
};

test('headers of route rules become rules for files, the general ones first', () => {
  const text = headersOf('/', routeRules);
  assert.deepEqual(
    parseHeaders({ text, file: '_headers' }).map(({ pattern }) => pattern),
    ['/about', '/_nuxt/*', '/_nuxt/builds/*'],
  );
  assert.match(text, /^\/about\n {2}x-one: 1\n {2}x-two: 2\n\/_nuxt/);
});

test('a more particular rule replaces the value of a general one', () => {
  const rules = parseHeaders({ text: headersOf('/', routeRules), file: '_headers' });
  assert.deepEqual(rules.at(-1), {
    pattern: '/_nuxt/builds/*',
    set: [['cache-control', 'max-age=1']],
    remove: ['cache-control'],
  });
  assert.deepEqual(rules.at(-2)?.remove, []);
});

test('the base of the app stands before each path', () => {
  assert.match(headersOf('/shop/', routeRules), /^\/shop\/about\n/);
});

test('the rules of the project stay, in the folder that the base lies in', async (t) => {
  const root = projectFolder(t, { 'public/_headers': '/*\n  x-own: 1\n', 'public/shop/a.txt': '' });
  const publicDir = join(root, 'public/shop');
  await writeRules({ baseURL: '/shop/', routeRules, output: { publicDir } });
  assert.match(readFileSync(join(root, 'public/_headers'), 'utf8'), /^\/\*\n {2}x-own: 1\n\n\/shop\/about\n/);
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { errorPage, pageHeaders, pageOf, siteNotFoundPage } from '#core/error-page.ts';

test('a page names its status and the request, and needs nothing but itself', () => {
  const page = errorPage(503, 'abc-12');
  assert.match(page, /<title>Temporarily unavailable<\/title>/);
  assert.match(page, /<p class="status">503<\/p><h1>Temporarily unavailable<\/h1>/);
  assert.match(page, /<p class="id">Request ID: <code>abc-12<\/code><\/p><\/main><\/html>/);
  assert.match(page, /@media\(prefers-color-scheme:dark\)/);
  assert.doesNotMatch(page, /src=|href=|url\(|<script|@import/);
  assert.match(errorPage(418, ''), /<h1>Something went wrong<\/h1>/);
  assert.doesNotMatch(errorPage(503, ''), /Request ID/);
  assert.match(siteNotFoundPage, /<h1>Site not found<\/h1>/);
});

test('the policy allows the style of the page, by its hash, and nothing else', () => {
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(errorPage(404, ''))!;
  const hash = createHash('sha256').update(style).digest('base64');
  assert.deepEqual(pageHeaders(), [
    ['content-type', 'text/html;charset=utf-8'],
    ['content-security-policy', `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`],
    ['x-content-type-options', 'nosniff'],
  ]);
});

test('an id and a text that contain markup add none to the page', () => {
  for (const id of ['<b>', '"', "'", '\0', 'a b', 'x'.repeat(129)])
    assert.equal(errorPage(500, id), errorPage(500, ''));
  assert.match(
    pageOf(422, { title: '<b>&"', text: "'>" }),
    /<h1>&#60;b&#62;&#38;&#34;<\/h1><p>&#39;&#62;<\/p><\/main>/,
  );
});

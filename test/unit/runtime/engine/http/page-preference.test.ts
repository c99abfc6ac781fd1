// Which clients get an error as a page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefersPage } from '#runtime/engine/http/page-preference.ts';

test('a page is for requests that navigate and prefer HTML to JSON', () => {
  const chromium = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
  for (const [accept, mode, is] of [
    [chromium, 'navigate', true],
    [chromium, null, true],
    ['TEXT/HTML', null, false],
    ['text/html', 'cors', false],
    ['*/*', 'navigate', false],
    ['*/*', null, false],
    [null, 'navigate', false],
    ['application/json, text/plain, */*', null, false],
    ['application/json, text/html;q=0.9', null, false],
    ['application/json;q=0.8, text/html', null, true],
    ['text/html, application/json', null, false],
    ['text/html;q=0', null, false],
    ['text/html;level=1; q=0.5, application/json;q=0.4', null, true],
    ['text/htmlx', null, false],
  ] as const) {
    const header = (name: string): string | null =>
      name === 'accept' ? accept : name === 'sec-fetch-mode' ? mode : null;
    assert.equal(prefersPage({ header }), is, `${accept} ${mode}`);
  }
});

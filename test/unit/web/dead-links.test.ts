// What a built site says of its links: pages and parts of pages that are not there.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { deadLinks } from '#web/docs-site/dead-links.ts';

test('a link leads to a page, and to a part that it has', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-links-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'more'));
  writeFileSync(
    path.join(folder, 'index.html'),
    '<a href="/a#here">x</a> <a class="y" href="more/">x</a> <a href="#top">x</a>',
  );
  writeFileSync(
    path.join(folder, 'a.html'),
    '<h2 id="here">x</h2> <a href="/b">x</a> <a href="https://example.com/">x</a>',
  );
  writeFileSync(path.join(folder, 'more/index.html'), '<a href="../a#there">x</a> <a href="/">x</a>');
  assert.deepEqual(deadLinks(folder).sort(), ['/ leads to #top', '/a leads to /b', '/more/ leads to ../a#there']);
});

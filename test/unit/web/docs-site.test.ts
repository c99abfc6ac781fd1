// The pages of the documentation site before they are built: which there are, in which order, what their links become.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { navigationOf } from '#web/docs-site/navigation.ts';
import { readPages, titleOf } from '#web/docs-site/sources.ts';

const pages = await readPages();

test('each page has a title, and links lead to pages of the site', () => {
  for (const [page, text] of pages) {
    assert.notEqual(titleOf(text), '', page);
    // A pattern in code marks is no link.
    const plain = text.replace(/^```[\s\S]*?^```|`[^`\n]*\]\([^`\n]*`/gm, '');
    for (const [, mark, to] of plain.matchAll(/(!?)\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]*)/g)) {
      if (mark === '!') {
        assert.match(to!, /^\/pictures\/[a-z-]+\.webp$/, page);
        continue;
      }
      const target = to!.replace(/^\//, '').replace(/(^|\/)$/, '$1index');
      assert.ok(to!.startsWith('/') && pages.has(target), `${page} leads to ${to}, which is no page`);
    }
  }
});

test('the navigation begins with the first steps, and leaves out no page', () => {
  const titles = new Map([...pages].map(([page, text]) => [page, titleOf(text)]));
  const chapters = navigationOf(titles);
  assert.deepEqual(chapters[0], {
    title: 'Start',
    pages: [
      ['getting-started', 'Getting started'],
      ['tutorial', 'Tutorial'],
      ['examples', 'Examples'],
      ['comparison', 'Comparison'],
      ['troubleshooting', 'Troubleshooting'],
    ],
  });
  const named = chapters.flatMap((chapter) => chapter.pages.map(([page]) => page));
  assert.equal(new Set(named).size, named.length);
  assert.deepEqual(
    [...pages.keys()].filter((page) => !named.includes(page) && !/^decisions\/\d|^index$/.test(page)),
    [],
  );
  assert.deepEqual(navigationOf(new Map([['news', 'News']])), [{ title: 'More', pages: [['news', 'News']] }]);
});

test('generated pages say what the program says', () => {
  assert.match(pages.get('cli-reference')!, /^## platform db query$/m);
  assert.match(
    pages.get('configuration-reference')!,
    /^\| `queue\.<NAME>\.max_retries` \| whole number from 0 to 100 \|/m,
  );
  assert.match(pages.get('errors')!, /^\| `cpu_limit_exceeded` \| 500 \| the worker \|/m);
  assert.match(pages.get('api-reference')!, /^### GET `\/projects\/\{id\}`$/m);
  assert.match(pages.get('benchmarks')!, /npm run bench hello/);
});

// The ranking of search results in the documentation: the searches of newcomers find the page about their words first.
// The index is MiniSearch's over the sections of the pages; test/browser/docs.test.ts types the same searches.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { newcomerSearches } from '#test/setup/newcomer-searches.ts';
import { isSearched, readPages } from '#web/docs-site/sources.ts';
import { rankOf } from '#web/docs-site/theme/search-rank.ts';

interface Index {
  addAll(sections: readonly object[]): void;
  search(words: string): { readonly id: string }[];
}
/** A dependency of VitePress, which searches with it. */
const { default: MiniSearch } = (await import(
  createRequire(import.meta.resolve('vitepress')).resolve('minisearch')
)) as { default: new (options: object) => Index };

const index = new MiniSearch({
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  searchOptions: {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 4, text: 2, titles: 1 },
    boostDocument: rankOf,
  },
});
for (const [page, text] of await readPages()) if (isSearched(page)) index.addAll(sectionsOf(page, text));

/** As VitePress cuts a page: by its headings, with those above each. */
function sectionsOf(page: string, text: string): { id: string; title: string; titles: string[]; text: string }[] {
  const above: string[] = [];
  // A comment in a block of code is no heading.
  const headed = text.replaceAll(/^```[\s\S]*?^```/gm, (block) => block.replaceAll(/^#/gm, ' #'));
  return headed.split(/^(?=#{1,6} )/m).flatMap((part, at) => {
    const [, signs, title] = /^(#{1,6}) (.*)$/m.exec(part) ?? [];
    if (signs === undefined) return [];
    above.length = signs.length - 1;
    const titles = above.filter(Boolean);
    above[signs.length - 1] = title!;
    const words = part.slice(part.indexOf('\n')).replaceAll(/[`|*[\]()]/g, ' ');
    return [
      { id: `/${page.replace(/(^|\/)index$/, '$1')}#${at}`, title: title!.replaceAll('`', ''), titles, text: words },
    ];
  });
}

for (const [words, page] of Object.entries(newcomerSearches))
  test(`"${words}" finds ${page} first`, () => {
    const found = index.search(words).map(({ id }) => id.split('#')[0]);
    assert.equal(found[0], page, found.slice(0, 5).join(' '));
  });

test('decisions, benchmarks and the security review are not searched', () => {
  assert.deepEqual(
    ['decisions/index', 'decisions/06-slots-not-maps', 'benchmarks', 'security-review', 'queue'].map(isSearched),
    [false, false, false, false, true],
  );
});

// The documentation site in Chromium, as the platform serves it: every page on a phone in both themes, one of each kind
// in every width as well, and its search. Nothing is asked of another host. That links and anchors lead somewhere is
// part of its build.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openLog } from '#core/log/log.ts';
import {
  assertAccessible,
  assertFits,
  openDashboardBrowser,
  settled,
  type DashboardBrowser,
} from '#test/setup/dashboard-browser.ts';
import { newcomerSearches } from '#test/setup/newcomer-searches.ts';
import { docsFolder } from '#web/docs-site/folder.ts';
import { listen, type Listener } from '#web/serve/listener.ts';
import { openSite } from '#web/serve/serve-site.ts';
import { MANIFEST_FILE, parseManifest } from '#web/serve/site-manifest.ts';

// Functions that run in the page see it by this name.
// oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
declare const document: any;

let server: Listener;
let docs: DashboardBrowser;
let pages: string[];

before(async () => {
  const folder = await docsFolder(process.env);
  const { files } = parseManifest(readFileSync(path.join(folder, MANIFEST_FILE), 'utf8'));
  pages = Object.keys(files).flatMap((name) =>
    name.endsWith('.html') && name !== '404.html' ? name.slice(0, -'.html'.length) : [],
  );
  const site = await openSite(folder, false);
  server = await listen({
    host: '127.0.0.1',
    port: 0,
    variable: 'DOCS_PORT',
    log: openLog('test', { LOG_LEVEL: 'silent' }),
    answer: (request, response, at) => site.answer(request, response, at),
  });
  docs = await openDashboardBrowser(`http://127.0.0.1:${server.port}`);
});
afterEach(() => docs?.closePages());
after(async () => {
  await docs?.close();
  await server?.close();
});

// One of each kind: the entrance, prose with code, tables, an address without a page.
for (const name of ['', 'tutorial', 'limits', 'no-such-page'])
  test(`/${name} fits every width, light and dark, and axe finds no fault`, async () => {
    await docs.inspect(`docs-${name || 'home'}`, `/${name}`);
  });

test('every page fits a phone, has one heading of its own, and axe finds no fault in either theme', async () => {
  assert.ok(pages.length > 100, `${pages.length} pages`);
  const page = await docs.visit('/', { width: 390 });
  const seen = new Set<string>();
  for (const name of pages) {
    await follow(page, `/${name.replace(/(^|\/)index$/, '$1')}`);
    await settled(page);
    await assertFits(page, name);
    assert.equal(await page.locator('main h1').count(), 1, name);
    assert.notEqual(await page.locator('h1').innerText(), 'Page not found', name);
    // What nobody has drawn yet stands there as its source.
    assert.equal(await page.locator('.language-mermaid').count(), 0, name);
    // The narrowest is the strictest: there tables and code scroll. What surrounds them is the same on each page.
    await assertAccessible(page, name, 'structure', 'main');
    if (!(await markNewStyles(page, seen))) continue;
    for (const theme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await assertAccessible(page, `${name}, ${theme}`, 'colors', '[data-new-style]');
    }
  }
});

/** Goes to a page by a link: its scripts are loaded already. */
async function follow(page: Page, to: string): Promise<void> {
  await page.evaluate((href) => {
    document.querySelector('h1').dataset.left = '';
    const link = Object.assign(document.createElement('a'), { href });
    document.body.append(link);
    link.click();
    link.remove();
  }, to);
  await page.locator('h1:not([data-left])').waitFor();
}

/** Marks texts whose elements, classes and ancestors were on no page before. @returns whether there are any */
async function markNewStyles(page: Page, seen: Set<string>): Promise<boolean> {
  const added = await page.evaluate(
    (known) => {
      const all = new Set(known);
      const isText = (node: { nodeType: number; data: string }) => node.nodeType === 3 && node.data.trim() !== '';
      for (const element of document.querySelectorAll('main *')) {
        if (![...element.childNodes].some(isText)) continue;
        let style = '';
        for (let at = element; at.tagName !== 'MAIN'; at = at.parentElement) style += `${at.tagName}.${at.className} `;
        if (all.has(style)) continue;
        all.add(style);
        element.dataset.newStyle = '';
      }
      return [...all].slice(known.length);
    },
    [...seen],
  );
  for (const style of added) seen.add(style);
  return added.length > 0;
}

test('search finds a word of a page and leads to it, by keyboard alone', async () => {
  const page = await docs.visit('/');
  await page.keyboard.press('Control+k');
  await page.locator('input[type=search]').fill('dead letter');
  const chosen = page.locator('[role=option][aria-selected=true]');
  await chosen.waitFor();
  const to = new URL((await chosen.locator('a').first().getAttribute('href'))!, docs.origin);
  assert.notEqual(to.pathname, '/');
  await page.keyboard.press('Enter');
  await page.waitForURL(to.href, { waitUntil: 'commit' });
  await page.locator('main').getByText(/dead/i).first().waitFor();
});

test('the searches of newcomers find the page about their words first', async () => {
  const page = await docs.visit('/');
  await page.keyboard.press('Control+k');
  for (const [words, to] of Object.entries(newcomerSearches)) {
    await page.locator('input[type=search]').fill('');
    await page.locator('[role=option]').first().waitFor({ state: 'detached' });
    await page.locator('input[type=search]').fill(words);
    const first = page.locator('[role=option] a').first();
    await first.waitFor();
    assert.equal(new URL((await first.getAttribute('href'))!, docs.origin).pathname, to, words);
  }
});

test('a page that is not there says so and leads back', async () => {
  const page = await docs.visit('/no-such-page');
  await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  await page.getByRole('link', { name: 'Documentation home' }).click();
  await page.waitForURL(`${docs.origin}/`);
});

test('nothing was asked of another host, and nothing was complained of', () => {
  assert.deepEqual([...docs.hosts], [`127.0.0.1:${server.port}`]);
  assert.deepEqual(docs.complaints, []);
});

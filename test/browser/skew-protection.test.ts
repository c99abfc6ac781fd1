// A page that is left open in Chromium while another deployment goes live, of an app that works as frameworks do: a
// lazy script named by its content, data of a route, a server function, a form without scripts.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openAppPage, type AppPage } from '#test/setup/dashboard-browser.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { until } from '#test/setup/until.ts';

/** The second version calls everything otherwise, and knows nothing of the first one's names. */
const worker = (version: number): string => `
const page = (text) => new Response(\`<!doctype html><title>v${version}</title><link rel="icon" href="data:,"><h1>\${text}</h1>
  <form method="post" action="/?/save-${version}"><button>Save</button></form>
  <a href="/again">Again</a><script type="module" src="/assets/entry-AbCdEf0${version}.js"></script>\`,
  { headers: { 'content-type': 'text/html' } });
export default {
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/__data-${version}.json') return Response.json({ version: ${version} });
    if (pathname === '/_server' && (await request.text()) === 'function-${version}') return new Response('v${version}');
    if (request.method === 'POST' && search === '?/save-${version}') return page('saved by v${version}');
    if (request.method === 'GET' && !pathname.includes('.')) return page('v${version}');
    return new Response('v${version} does not know ' + pathname + search, { status: 404 });
  },
};`;
const script = (version: number): string => `
window.data = async () => (await (await fetch('/__data-${version}.json')).json()).version;
window.call = async () => (await fetch('/_server', { method: 'POST', body: 'function-${version}' })).text();
window.lazy = async () => (await import('/assets/lazy-GhIjKl0${version}.js')).version;
document.body.dataset.ready = 'yes';`;

let platform: TestPlatform;
let opened: AppPage;

async function deploy(version: number): Promise<void> {
  await rm(join(platform.folder, 'sources/shop/main'), { recursive: true, force: true });
  await platform.deploy('shop', worker(version), 'assets: {}\n', {
    [`public/assets/entry-AbCdEf0${version}.js`]: script(version),
    [`public/assets/lazy-GhIjKl0${version}.js`]: `export const version = ${version};`,
  });
  await platform.answers('shop', `{"version":${version}}`, `/__data-${version}.json`);
}
const evaluate = (expression: string): Promise<unknown> => opened.page.evaluate(expression);
/** Waits for a page with this heading, whose script has run. A page that goes away meanwhile answers nothing. */
const shows = async (heading: string): Promise<void> => {
  await until(async () => {
    const shown = evaluate('document.body.dataset.ready && document.querySelector("h1").textContent');
    return (await shown.catch(() => null)) === heading;
  });
};

before(async () => {
  platform = await startPlatform({});
  opened = await openAppPage();
});
after(async () => {
  await opened?.close();
  await platform?.close();
});

test('an open page goes on with its deployment, its next page is of the live one', async () => {
  await deploy(1);
  await opened.page.goto(`http://shop.localhost:${platform.port}/`);
  await shows('v1');
  await deploy(2);
  assert.equal(await evaluate('window.lazy()'), 1);
  assert.equal(await evaluate('window.data()'), 1);
  assert.equal(await evaluate('window.call()'), 'v1');
  assert.deepEqual(opened.complaints, []);

  await opened.page.getByRole('link', { name: 'Again' }).click();
  await shows('v2');
  assert.equal(await evaluate('window.lazy()'), 2);
  assert.equal(await evaluate('window.data()'), 2);
  assert.equal(await evaluate('window.call()'), 'v2');
  assert.deepEqual(opened.complaints, []);
});

test('a form that an open page sends without scripts is taken by its deployment', async () => {
  await deploy(3);
  await opened.page.getByRole('button', { name: 'Save' }).click();
  await shows('saved by v2');
  assert.equal(await evaluate('window.data()'), 2);
  await opened.page.getByRole('link', { name: 'Again' }).click();
  await shows('v3');
});

test('a page of another tab keeps its scripts, although the cookie tells of a later page', async () => {
  await opened.page.goto(`http://shop.localhost:${platform.port}/`);
  await shows('v3');
  await deploy(4);
  // What the other tab is answered with reaches the cookie of both.
  await evaluate(`new Promise((resolve) => {
    const tab = window.open('/again');
    tab.addEventListener('load', () => resolve(tab.close()));
  })`);
  assert.equal(await evaluate('window.lazy()'), 3);
  assert.deepEqual(opened.complaints, []);
});

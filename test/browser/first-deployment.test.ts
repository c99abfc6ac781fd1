// What a new user does: from the sign-in page to something that is live.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { settled } from '#test/setup/dashboard-browser.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { until } from '#test/setup/until.ts';

let dashboard: SharedDashboard;
before(async () => {
  dashboard = await openSharedDashboard('first-steps');
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

test('from sign-in to a live deployment it takes three clicks and one command', async (context) => {
  const { platform, origin, browser } = dashboard;
  const page = await (await browser.newContext()).newPage();
  let clicks = 0;
  const click = async (name: string): Promise<void> => {
    clicks++;
    await page.getByRole('button', { name }).or(page.getByRole('link', { name })).first().click();
  };
  await page.goto(`${origin}/`);
  await page.getByLabel('Token').fill(platform.token);
  await click('Sign in');
  await click('New project');
  await page.getByLabel('Name').fill('first-app');
  await click('Create project');
  const command = page.getByText('platform deploy --name first-app');
  await command.waitFor();

  const folder = path.join(platform.folder, 'first-app');
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), 'name: first-app\n');
  writeFileSync(path.join(folder, 'src/index.ts'), "export default { fetch: () => new Response('hi') };\n");
  const words = (await command.textContent())!.replace('platform ', '').split(' ');
  await platform.cli(folder, ...words);

  // The page has not been touched since.
  const live = page
    .getByRole('main')
    .getByRole('link', { name: /^first-app\.localhost/ })
    .first();
  await live.waitFor();
  assert.match((await live.getAttribute('href'))!, /^https?:\/\/first-app\.localhost/);
  assert.equal((await platform.open('first-app')).text, 'hi');
  context.diagnostic(`clicks: ${clicks}`);
  assert.equal(clicks, 3);
});

test('a template is live after one click on the page of a new project, and its code is in a repository', async () => {
  const { platform } = dashboard;
  const page = await dashboard.visit('/new');
  await page.getByRole('button', { name: 'Deploy the template static' }).click();
  await page.waitForURL(/\/deployments\/d/);
  await page.getByText('Start from the template static').first().waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  assert.match((await platform.open('static')).text, /<html/);
  const folder = path.join(platform.folder, 'cloned');
  mkdirSync(folder, { recursive: true });
  await platform.git(
    folder,
    'clone',
    '-q',
    `http://git:${platform.token}@127.0.0.1:${platform.ports.api}/git/static.git`,
  );
  assert.match(readFileSync(path.join(folder, 'static/platform.yaml'), 'utf8'), /^kind: worker$/m);

  const list = await dashboard.visit('/');
  const [first] = await list.getByRole('table', { name: 'Projects' }).getByRole('link').allTextContents();
  assert.match(first!, /static/);
  assert.equal(await list.title(), 'Projects – platform');
});

test('the first page is drawn from at most 170 KB of script and 20 requests', async (context) => {
  const page = await dashboard.visit('/', { alone: true });
  const [bytes, requests, ms] = await page.evaluate(() => {
    const all = performance.getEntriesByType('resource') as unknown as { name: string; encodedBodySize: number }[];
    const scripts = all.filter(({ name }) => name.endsWith('.js'));
    const sum = scripts.reduce((total, one) => total + one.encodedBodySize, 0);
    // With that for the page itself.
    return [sum, all.length + 1, Math.round(performance.now())] as const;
  });
  context.diagnostic(`script as sent: ${bytes} bytes; requests: ${requests}; read and drawn after ${ms} ms`);
  assert.ok(bytes > 0 && bytes <= 170_000, `${bytes} bytes`);
  assert.ok(requests <= 20, `${requests} requests`);
});

test('where the session has ended, signing in leads back to the same address', async () => {
  const { platform, origin, browser } = dashboard;
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${origin}/projects/first-app/deployments?status=failure`);
  await page.getByLabel('Token').fill(platform.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${origin}/projects/first-app/deployments?status=failure`);
  await page.getByText('No results').waitFor();
});

test('while the platform does not answer the page says so, and goes on by itself', async () => {
  const page = await dashboard.visit('/projects/first-app', { alone: true });
  const banner = page.getByText('The platform is not responding');
  await page.context().setOffline(true);
  await goTo(page, 'Deployments');
  await banner.waitFor();
  await page.context().setOffline(false);
  await banner.waitFor({ state: 'detached' });
  await page.getByRole('table', { name: 'Deployments' }).waitFor();
});

test('one entry is marked as the page that is shown, on the pages below it as well', async () => {
  const page = await dashboard.visit('/projects/first-app');
  const marked = async (): Promise<string[]> =>
    (await page.locator('nav[aria-label="first-app"] [aria-current]').allTextContents()).map((text) => text.trim());
  assert.deepEqual(await marked(), ['Overview']);
  for (const [entry, tab] of [
    ['Deployments', 'Previews'],
    ['Logs', 'Requests'],
    ['Settings', 'Variables'],
  ] as const) {
    await goTo(page, entry);
    await page.getByRole('link', { name: tab, exact: true }).click();
    await page.locator('main [aria-current=page]').filter({ hasText: tab }).waitFor();
    assert.deepEqual(await marked(), [entry]);
  }
});

test('the palette and keys lead everywhere', async () => {
  const page = await dashboard.visit('/projects/first-app');
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search pages').fill('deploym');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Deployments' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.getByRole('heading', { level: 1, name: 'first-app' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Go to Deployments').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.title(), 'Overview, first-app – platform');
  const list = await dashboard.visit('/projects/first-app/deployments');
  await list.getByRole('table', { name: 'Deployments' }).waitFor();
  await list.keyboard.press('j');
  await list.keyboard.press('Enter');
  await list.waitForURL(/\/deployments\/d/);
  await until(async () => (await list.title()).endsWith(', first-app – platform'));
});

test('no page complains', async () => {
  const page = await dashboard.visit('/new');
  await settled(page);
  assert.deepEqual(dashboard.complaints, []);
});

async function goTo(page: Page, entry: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: entry, exact: true }).first().click();
}

// A dashboard in trouble, in Chromium: the session ends in the middle, an upgrade takes its files away, the API starts
// again, the API refuses what the page has shown, lists are very long.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openDashboardBrowser, settled, signIn, type DashboardBrowser } from '#test/setup/dashboard-browser.ts';
import {
  API_PAUSE_MS,
  eventually,
  startWholePlatform,
  type Json,
  type WholePlatform,
} from '#test/setup/whole-platform.ts';

let platform: WholePlatform;
let dashboard: DashboardBrowser;
let organization: Json;
before(async () => {
  // Of its own: nobody else has an API that starts again.
  platform = await startWholePlatform({ HANDLER_SPARES: '0' });
  const origin = `http://localhost:${platform.ports.ui}`;
  await eventually('The dashboard', async () => (await fetch(origin)).ok);
  dashboard = await openDashboardBrowser(origin, (page) => signIn(page, origin, platform.token));
  [organization] = (await platform.call('GET', '/user')).organizations;
  for (const name of ['shop', 'blog'])
    await platform.call('POST', '/projects', { name, organizationId: organization.id });
});
afterEach(() => dashboard?.closePages());
after(async () => {
  await dashboard?.close();
  await platform?.close();
});

const goTo = (page: Page, entry: string): Promise<void> =>
  page.getByRole('navigation').getByRole('link', { name: entry, exact: true }).first().click();

test('a session that ends in the middle is said, what was typed stays, and signing in leads back', async () => {
  const page = await dashboard.visit('/projects/shop/settings/variables', { alone: true });
  await page.getByRole('button', { name: 'New variable' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('KEPT');
  await page.getByLabel('Value', { exact: true }).fill('typed');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Add variable' }).click();
  await page.getByText('Could not save the variable').waitFor();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'KEPT');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  const banner = page.getByRole('status').filter({ hasText: 'Your session has expired' });
  await banner.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Token').fill(platform.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${dashboard.origin}/projects/shop/settings/variables`);
  await settled(page);
  assert.equal(await banner.count(), 0);
});

test('where an upgrade took the files of a page away, it is loaded anew once, and says so', async () => {
  const page = await dashboard.visit('/projects/shop');
  let refused = 0;
  await page.route(/\/assets\/audit-[^/]+\.js$/, (route) => (refused++ === 0 ? route.abort() : route.continue()));
  await page.goto(`${dashboard.origin}/orgs/${organization.slug}`);
  await settled(page);
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('Page reloaded').waitFor();
  await page.getByRole('table').waitFor();
  assert.ok(refused >= 2);
});

test('while the API starts again the page keeps what it shows, and goes on by itself', async () => {
  const page = await dashboard.visit('/projects/shop/settings/variables');
  const { services } = await platform.status();
  const { pid } = services.find((service: Json) => service.name === 'api');
  process.kill(pid, 'SIGKILL');
  await goTo(page, 'Deployments');
  await page.getByText('No deployments yet').waitFor();
  const isBack = async (): Promise<boolean> => {
    const { services: now } = await platform.status();
    const found = now.find((service: Json) => service.name === 'api');
    return found.pid !== null && found.pid !== pid;
  };
  await eventually('Another API', isBack, API_PAUSE_MS);
  await page.getByText('The platform is not responding').waitFor({ state: 'detached' });
  await goTo(page, 'Settings');
  await page.getByRole('heading', { name: 'Build' }).waitFor();
});

test('a deletion that the API refuses is taken back, with the reason', async () => {
  const { items } = await platform.call('GET', `/orgs/${organization.id}/projects`);
  const { id } = items.find((project: Json) => project.name === 'shop');
  await platform.call('POST', `/environment-variables/${id}`, { key: 'STAYS', value: 'x', kind: 'plaintext' });
  // Alone: the clock is its context's.
  const page = await dashboard.visit('/projects/shop/settings/variables', { alone: true });
  await page.clock.install();
  await page.route('**/api/environment-variables/**', (route) =>
    route.request().method() === 'DELETE'
      ? route.fulfill({ status: 409, json: { code: 'conflict', message: 'Somebody else changes it', requestId: 'r1' } })
      : route.continue(),
  );
  const cell = page.getByRole('cell', { name: 'STAYS', exact: true });
  await page.getByRole('button', { name: 'Actions for STAYS' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await cell.waitFor({ state: 'detached' });
  await page.clock.fastForward(11_000);
  await page.getByText('Somebody else changes it').waitFor();
  await cell.waitFor();
});

test('of a list of 100,000 entries a bounded number is in the page, and it goes on to its end', async () => {
  const page = await dashboard.visit('/');
  const total = 100_000;
  const size = 25_000;
  await page.route('**/api/orgs/*/audit*', (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
    const items = Array.from({ length: size }, (_, at) => entryOf(from + at));
    return route.fulfill({ json: { items, nextCursor: from + size < total ? String(from + size) : null } });
  });
  await page.goto(`${dashboard.origin}/orgs/${organization.slug}/audit`);
  const rows = page.getByRole('table').getByRole('row');
  await page.getByText('entry 0.').first().waitFor();
  const last = page.getByText(`entry ${total - 1}.`).first();
  let most = 0;
  // What was at the end is not any more once the next page has come.
  const isAtEnd = async (): Promise<boolean> => {
    await page.keyboard.press('End');
    most = Math.max(most, await rows.count());
    return last.isVisible();
  };
  await eventually('The last entry', isAtEnd, API_PAUSE_MS);
  assert.ok(most < 150, `${most} rows`);
  assert.equal(await page.getByRole('table').getAttribute('aria-rowcount'), String(total + 1));
});

/** An entry of the audit log as the API gives it. */
function entryOf(at: number): Json {
  return {
    id: String(at),
    at: new Date(Date.UTC(2026, 0, 1) - at * 1000).toISOString(),
    actor: { kind: 'account', id: 'a', login: `entry ${at}.` },
    action: 'variable.create',
    subjectKind: 'variable',
    subjectId: String(at),
    projectId: null,
    details: {},
    address: null,
    requestId: null,
  };
}

test('no page complains of anything but what was taken away', () => {
  assert.deepEqual(
    dashboard.complaints.filter((one) => !/preload|dynamically imported/.test(one)),
    [],
  );
});

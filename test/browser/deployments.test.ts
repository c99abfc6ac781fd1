// Deployments in the dashboard: why one failed, what a promote changes, every page at every width.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { assertAccessible } from '#test/setup/dashboard-browser.ts';
import { makeShop, MARKUP, type Shop } from '#test/setup/dashboard-shop.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';

const PROJECT = 'pushed-shop';
let dashboard: SharedDashboard;
let shop: Shop;
before(async () => {
  dashboard = await openSharedDashboard('deployments');
  shop = await makeShop(dashboard, PROJECT);
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

test('why the last deployment failed is in view on the overview, without a click', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}`);
  const line = page
    .getByText("Cannot resolve './nowhere.ts'")
    .or(page.getByText('Cannot resolve "./nowhere.ts"'))
    .first();
  await line.waitFor();
  const box = (await line.boundingBox())!;
  assert.ok(box.y > 0 && box.y < 700, `at ${box.y}`);
});

test('a deployment and a database show what the migrator applied, for whom, and with which result', async () => {
  for (const at of [`/deployments/${shop.earlier}`, `/projects/${PROJECT}/storage/databases/DB?view=migrations`]) {
    const page = await dashboard.visit(at);
    const row = page.getByRole('table', { name: 'Migrations' }).getByRole('row', { name: /0001_orders\.sql/ });
    await row.getByText('Applied').waitFor();
    assert.equal(await page.getByText('0002_article.sql').count(), 0, at);
  }
  const page = await dashboard.visit(`/deployments/${shop.preview}`);
  await page
    .getByRole('row', { name: /0002_article\.sql.*orders \(checkout-with-a-card\)/ })
    .getByText('Applied')
    .waitFor();
});

test('the log opens at the error, and its search finds lines of folded steps', async () => {
  const page = await dashboard.visit(`/deployments/${shop.failed}`);
  const log = page.getByRole('log', { name: 'Build log' });
  await log.getByText('Cannot resolve').first().waitFor();
  assert.equal(await page.getByRole('button', { name: /^Clone/ }).getAttribute('aria-expanded'), 'false');
  await page.getByLabel('Search logs').fill('nowhere');
  await page.getByText(/^\d+ lines$/).waitFor();
  await page.getByLabel('Search logs').fill('');
  await page.getByRole('button', { name: /^Clone/ }).click();
  assert.equal(await page.getByRole('button', { name: /^Clone/ }).getAttribute('aria-expanded'), 'true');
});

test('a build log has its colours, readable in both themes, and its markup is text', async () => {
  const texts = [
    'src/a.ts:3:1 \u001b[31mred\u001b[0m \u001b[1;32mgreen\u001b[0m \u001b[36mcyan\u001b[0m',
    `\u001b[45mbadge\u001b[0m \u001b[2mdim\u001b[0m \u001b[7minverse\u001b[0m ${MARKUP}`,
  ];
  const lines = texts.map((text, at) => ({
    seq: at + 1,
    at: '2026-01-01T00:00:00Z',
    step: 'build',
    level: 'info',
    text,
  }));
  const body = lines.map((line) => `event: line\nid: ${line.seq}\ndata: ${JSON.stringify(line)}\n\n`).join('');
  for (const theme of ['light', 'dark'] as const) {
    const page = await dashboard.visit(`/projects/${PROJECT}`, { theme });
    await page.route('**/api/deployments/*/logs*', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: `${body}event: end\ndata: {}\n\n` }),
    );
    await page.goto(`${dashboard.origin}/deployments/${shop.preview}`);
    const log = page.getByRole('log', { name: 'Build log' });
    const colourOf = (text: string): Promise<string> =>
      // oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
      log.getByText(text, { exact: true }).evaluate((element: any) => {
        // oxlint-disable-next-line typescript/no-explicit-any -- the same
        return (globalThis as any).getComputedStyle(element).color as string;
      });
    await log.getByText('cyan', { exact: true }).waitFor();
    const colours = await Promise.all(['red', 'green', 'cyan', 'dim'].map(colourOf));
    assert.equal(new Set(colours).size, 4, colours.join(', '));
    await log.getByText(MARKUP).waitFor();
    assert.equal(await log.locator('img').count(), 0);
    await assertAccessible(page, `the coloured log, ${theme}`);
  }
});

test('a promote says what it changes before it is done, and a rollback leads back', async () => {
  const page = await dashboard.visit(`/deployments/${shop.preview}`);
  await page.getByText('1 migration runs first').first().waitFor();
  await page.getByText('ALTER TABLE orders RENAME COLUMN item TO article').first().waitFor();
  await page.getByRole('button', { name: 'Promote to production' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('orders: 0002_article.sql').waitFor();
  await dialog.getByRole('button', { name: 'Promote to production anyway' }).click();
  await page.getByText('Promoted to production').waitFor();
  await page.getByText('Live', { exact: true }).waitFor();

  const back = await dashboard.visit(`/deployments/${shop.live}`);
  await back.getByText('1 later migration is not reverted').first().waitFor();
  await back.getByRole('button', { name: 'Roll back' }).click();
  await back.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await back.getByText('Rolled back').waitFor();
  assert.equal((await dashboard.platform.open(PROJECT)).text, 'two');
});

test('with steps in the settings, a promotion starts a guarded release, and a rollback ends it', async () => {
  const settings = await dashboard.visit(`/projects/${PROJECT}/settings`);
  await settings.getByLabel('Steps').fill('10, 100');
  await settings.getByRole('button', { name: 'Enable' }).click();
  await settings.getByRole('button', { name: 'Disable' }).waitFor();

  const page = await dashboard.visit(`/deployments/${shop.preview}`);
  await page.getByRole('button', { name: 'Promote to production' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('This deployment gets 10 % of visitors, then 100 %, for 5 min each.').waitFor();
  await dialog.getByRole('button', { name: 'Promote to production' }).click();
  await page.getByText('Guarded release started').waitFor();
  await page.getByText('10 % of visitors').first().waitFor();
  await page.getByRole('table', { name: 'Steps' }).getByRole('row', { name: /^10 %/ }).waitFor();
  await dashboard.inspect('deployment-guarded', `/deployments/${shop.preview}`);
  await page.getByRole('button', { name: 'Roll back' }).click();
  await dialog.getByRole('button', { name: 'Roll back' }).click();
  await page.getByText('Rolled back by hand').waitFor();
  assert.equal((await dashboard.platform.open(PROJECT)).text, 'two');
});

test('what others wrote is text', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/deployments`);
  await page.getByRole('link', { name: MARKUP }).waitFor();
  assert.equal(await page.locator('main img').count(), 0);
});

test('a filter is in the address, and back leads to the list before', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/deployments`);
  await page.getByLabel('Status').selectOption('failure');
  await page.waitForURL(/\?status=failure$/);
  await page
    .getByRole('link', { name: 'Clear filters' })
    .or(page.getByRole('button', { name: 'Clear filters' }))
    .waitFor();
  await page.getByRole('row').nth(1).waitFor();
  await page.getByRole('link', { name: 'Call an item an article' }).waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('row').count(), 2);
  await page.goBack();
  await page.getByRole('row').nth(4).waitFor();
});

const LONG_NAME = 'a-name-as-long-as-forty-characters-can-b';

test('a project with the longest name is made', async () => {
  const { platform, organization } = dashboard;
  const made = await platform.call('POST', '/projects', { name: LONG_NAME, organizationId: organization.id });
  assert.equal(made.name, LONG_NAME);
});

for (const [name, address] of [
  ['projects', () => '/'],
  ['new-project', () => '/new'],
  ['overview', () => `/projects/${PROJECT}`],
  ['overview-empty', () => `/projects/${LONG_NAME}`],
  ['deployments', () => `/projects/${PROJECT}/deployments`],
  ['previews', () => `/projects/${PROJECT}/previews`],
  ['deployment-failed', () => `/deployments/${shop.failed}`],
  ['deployment-preview', () => `/deployments/${shop.preview}`],
  ['database-migrations', () => `/projects/${PROJECT}/storage/databases/DB?view=migrations`],
  ['not-found', () => '/deployments/d000000000000'],
] as const)
  test(`the page ${name} fits every width in both themes, without a serious fault`, () =>
    dashboard.inspect(name, address()));

test('the command palette fits every width in both themes, without a serious fault', () =>
  dashboard.inspect('palette', `/projects/${PROJECT}`, (page) =>
    page.keyboard.press('Control+k').then(() => page.getByRole('dialog').waitFor()),
  ));

test('the palette rolls back after a look at what changes, and opens the form of a variable', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}`);
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search pages').fill('roll back');
  await page.getByRole('option', { name: 'Roll back', exact: true }).click();
  const question = page.getByRole('dialog', { name: /^Roll back to “/ });
  await question.getByRole('button', { name: 'Cancel' }).click();
  await question.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search pages').fill('add variable');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/settings\/variables\?new=true$/);
  await page.getByRole('dialog').getByLabel('Name').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/\/settings\/variables$/);
});

test('no page complains', () => {
  assert.deepEqual(dashboard.complaints, []);
});

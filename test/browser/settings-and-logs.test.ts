// What owners and people on call do in the dashboard, in Chromium, over a platform with a project that has served: the
// pages of settings, organization, account, usage, logs and health in each width and theme, and a task of each.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { pageScrollPx, settled } from '#test/setup/dashboard-browser.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { until } from '#test/setup/until.ts';
import { API_PAUSE_MS, eventually, type Json } from '#test/setup/whole-platform.ts';

const PROJECT = 'settled-shop';
const MARKUP = '<img src=x onerror=alert(1)>';
const worker = `export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/log') {
      console.log('hello from the worker');
      console.warn(${JSON.stringify(MARKUP)});
      console.error(new Error('the cart is empty'));
      console.log('مرحبا بالعالم');
    }
    if (pathname === '/burn') { let sum = 0; for (let at = 0; at < 2e7; at++) sum += at; return new Response(String(sum)); }
    if (pathname === '/throw') throw new Error('no such guest');
    if (pathname === '/long') console.log('x'.repeat(250_000));
    return new Response('hello');
  },
};`;

// Functions that run in the page see it by this name.
// oxlint-disable-next-line typescript/no-explicit-any -- the tests have no types of browsers
declare const getComputedStyle: any;

let dashboard: SharedDashboard;
let organization: Json;
let project: Json;
/** Id of the request that failed. */
let failure: string;

before(async () => {
  dashboard = await openSharedDashboard('settings');
  const { platform } = dashboard;
  const folder = path.join(platform.folder, PROJECT);
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), 'kind: worker\n');
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ name: PROJECT, type: 'module' }));
  writeFileSync(path.join(folder, 'src/index.js'), worker);
  await platform.cli(folder, 'deploy');
  ({ organization } = dashboard);
  [project] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items;
  for (const asked of ['/', '/log', '/burn', '/throw', '/long', '/api/users/7', '/log'])
    await visitWorker(platform.ports.handler, `${PROJECT}.localhost`, asked);
  const variables = [
    { key: 'API_KEY', value: 'sk-123', kind: 'secret' },
    { key: 'GREETING', value: MARKUP, kind: 'plaintext' },
    { key: 'ARABIC', value: 'مرحبا', kind: 'plaintext', scope: 'dev' },
    {
      key: `LONG_${'NAME_'.repeat(20)}`,
      value: 'v'.repeat(400),
      kind: 'plaintext',
      branch: `feature/${'long-'.repeat(20)}`,
    },
  ];
  for (const body of variables) await platform.call('POST', `/environment-variables/${project.id}`, body);
  await platform.call('POST', `/projects/${project.id}/deploy-hooks`, { name: MARKUP, branch: 'main' });
  await platform.call('POST', `/orgs/${organization.id}/invitations`, { login: 'grace', role: 'member' });
  const events = ['deployment.succeeded', 'deployment.failed'];
  await platform.call('POST', `/orgs/${organization.id}/webhooks`, {
    url: `https://example.com/${'hook/'.repeat(20)}`,
    events,
  });
  const ask = (what: string): Promise<Json> => platform.call('GET', `/projects/${project.id}/${what}`);
  await eventually('The usage', async () => (await ask('usage')).totals.invocations >= 7, API_PAUSE_MS);
  await eventually('The lines', async () => (await ask('logs')).items.length >= 9, API_PAUSE_MS);
  failure = await eventually<string>(
    'The failure',
    async () => (await ask('invocations?outcome=failed')).items[0]?.id ?? null,
    API_PAUSE_MS,
  );
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

function visitWorker(port: number, host: string, at: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: at, headers: { host } }, (answer) => {
      answer.resume().on('end', resolve);
    })
      .on('error', reject)
      .end();
  });
}

const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

test('a variable is added, and a .env text imported', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/variables`);
  await page.getByRole('button', { name: 'New variable' }).click();
  await page.getByLabel('Name', { exact: true }).fill('DATABASE_URL');
  await page.getByLabel('Value', { exact: true }).fill('postgres://secret');
  await page.getByRole('button', { name: 'Add variable' }).click();
  await page.getByRole('cell', { name: 'DATABASE_URL', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Import .env' }).click();
  await page.getByLabel('Content of the .env file').fill('FIRST=1\nwhat\n');
  await says(page, 'Line 2: not NAME=value');
  await page.getByLabel('Content of the .env file').fill('FIRST=1\nSECOND="two words"\n');
  await page.getByRole('button', { name: 'Import 2 variables' }).click();
  await page.getByRole('cell', { name: 'SECOND', exact: true }).waitFor();
  const { items } = await dashboard.platform.call('GET', `/environment-variables/${project.id}`);
  const kept = (items as Json[]).filter(({ key }) => ['DATABASE_URL', 'FIRST', 'SECOND'].includes(key));
  assert.deepEqual(
    kept.map(({ key, kind, value, scope }) => [key, kind, value, scope]),
    [
      ['DATABASE_URL', 'secret', null, 'production'],
      ['FIRST', 'secret', null, 'production'],
      ['SECOND', 'secret', null, 'production'],
    ],
  );
  assert.equal(await page.getByText('postgres://secret').count(), 0);
});

test('a deletion can be undone', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/variables`);
  await page.getByRole('button', { name: 'Actions for GREETING' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('cell', { name: 'GREETING', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('cell', { name: 'GREETING', exact: true }).waitFor();
});

test('a domain is added, and says which records to make', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/domains`);
  await page.getByRole('button', { name: 'Add domain' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Domain').fill('no-dots');
  await dialog.getByRole('button', { name: 'Add domain' }).click();
  await says(page, /must be a hostname, such as/);
  await dialog.getByLabel('Domain').fill('www.example.com');
  await dialog.getByRole('button', { name: 'Add domain' }).click();
  const card = page.getByRole('region', { name: 'www.example.com' });
  await card.getByText('_platform.www.example.com').waitFor();
  await card.getByText('Waiting for DNS').waitFor();
});

test('a member is invited, and the invitation withdrawn', async () => {
  const page = await dashboard.visit(`/orgs/${organization.slug}/members`);
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('By').selectOption('login');
  await page.getByLabel('Git host username').fill('ada');
  await page.getByLabel('Role').selectOption('viewer');
  await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('cell', { name: 'ada', exact: true }).waitFor();
  const { items } = await dashboard.platform.call('GET', `/orgs/${organization.id}/invitations`);
  assert.equal((items as Json[]).find(({ login }) => login === 'ada')?.role, 'viewer');
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Invite' }).click();
  const url = await page.locator('pre').filter({ hasText: '/api/auth/invitation?code=pli_' }).innerText();
  await page.getByRole('button', { name: 'I copied it' }).click();
  await page.getByRole('button', { name: 'Revoke the invitation: Anyone with the link' }).waitFor();
  assert.equal(await page.getByText(url).count(), 0);
});

test('on a phone, a table says what a time means', async () => {
  const page = await dashboard.visit(`/orgs/${organization.slug}/members`, { width: 390 });
  const cell = page
    .getByRole('table', { name: /members/i })
    .getByRole('cell')
    .filter({ hasText: /now|ago/ });
  const label = await cell.evaluate((shown) => getComputedStyle(shown, '::before').content as string);
  assert.equal(label, '"Joined"');
});

test('an operator creates a recovery link, which is shown once', async () => {
  const page = await dashboard.visit(`/orgs/${organization.slug}/members`);
  await page.getByRole('button', { name: 'Actions for admin' }).click();
  await page.getByRole('menuitem', { name: 'Create recovery link' }).click();
  const url = await page.locator('pre').filter({ hasText: '/api/auth/recovery/set?code=' }).innerText();
  await page.getByRole('button', { name: 'I copied it' }).click();
  assert.equal(await page.getByText(url).count(), 0);
  await page.goto(url);
  await says(page, 'Set a new password');
});

test('the account shows how it signs in', async () => {
  const page = await dashboard.visit('/account');
  await page.getByRole('link', { name: 'Set a password' }).click();
  await says(page, 'You are signed in as admin');
});

test('a token is made, shown once, and revoked', async () => {
  const page = await dashboard.visit('/account');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByLabel('Name', { exact: true }).fill('CI');
  await page.getByLabel('Scope').selectOption('read');
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await page.locator('pre').filter({ hasText: 'plt_' }).innerText();
  assert.equal((await dashboard.platform.call('GET', '/user', undefined, token)).token.scope, 'read');
  await page.getByRole('button', { name: 'I copied it' }).click();
  await page.reload();
  await settled(page);
  assert.equal(await page.getByText(token).count(), 0);
  await page.getByRole('button', { name: 'Revoke CI' }).click();
  await page
    .getByRole('cell', { name: 'CI', exact: false })
    .filter({ hasText: token.slice(0, 8) })
    .waitFor({ state: 'detached' });
});

test('the invocation nearest to its budget is found, and its log', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/analytics/usage`);
  const [first] = await page.getByRole('table', { name: 'Routes' }).getByRole('row').filter({ hasText: '/' }).all();
  assert.match(await first!.innerText(), /\/burn/);
  await first!.click();
  const worst = page.getByRole('table', { name: 'Costliest invocations' }).getByRole('link').first();
  await worst.click();
  await page.waitForURL(/\/projects\/settled-shop\/logs\?.*invocation=/);
  await page.getByRole('dialog').getByText('GET /burn').waitFor();
});

test('a line leads to its request, with its other lines; what it says is text', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs`);
  await page.getByLabel('Search logs').fill('cart is empty');
  await page.waitForURL(/search=cart/);
  await page.getByRole('log').getByText('the cart is empty').first().click();
  const sheet = page.getByRole('dialog');
  await sheet.getByText('GET /log').waitFor();
  await sheet.getByText(MARKUP).waitFor();
  await sheet.getByText('مرحبا بالعالم').waitFor();
  await sheet.getByRole('region', { name: 'Request headers' }).getByText('settled-shop.localhost').waitFor();
  await sheet.getByText('127.0.0.1').waitFor();
  assert.equal(await page.locator('img[src="x"]').count(), 0);
});

test('lines that come are shown while they are followed', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs?level=error`);
  await page.getByRole('button', { name: 'Live tail' }).click();
  await page.waitForURL(/live=true/);
  await says(page, 'Live');
  const lines = page.getByRole('log').getByText('no such guest');
  const before = await lines.count();
  await visitWorker(dashboard.platform.ports.handler, `${PROJECT}.localhost`, '/throw');
  await until(async () => (await lines.count()) > before);
  const [log, newest] = [await page.getByRole('log').boundingBox(), await lines.last().boundingBox()];
  assert.ok(newest!.y + newest!.height <= log!.y + log!.height, 'the newest line is in view');
  assert.equal(await pageScrollPx(page), 0, 'only the list scrolls');
});

test('filters of lines and requests are in the address', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/logs`);
  await page.getByLabel('Kind').selectOption('queue');
  await page.waitForURL(/kind=queue/);
  await says(page, 'No results');
  await page.getByLabel('Kind').selectOption('http');
  await page.getByRole('log').getByText('the cart is empty').first().waitFor();
  const requests = await dashboard.visit(`/projects/${PROJECT}/logs/requests?method=POST`);
  await says(requests, 'No requests in this period');
  await requests.getByLabel('Method').selectOption('GET');
  await requests.waitForURL(/method=GET/);
  await requests.getByRole('table', { name: 'Requests' }).getByText('GET /burn').waitFor();
});

test('an operator starts a backup, and sees that it was made', async () => {
  const page = await dashboard.visit('/operator/backups');
  await says(page, 'No backups yet');
  await page.getByRole('button', { name: 'Back up now' }).click();
  await says(page, 'Last backup completed');
  await says(page, /platform-.*\.tar$/);
});

test('an operator sees the machine, what it runs, and that the only one is not drained', async () => {
  const page = await dashboard.visit('/operator/machines');
  const table = page.getByRole('table', { name: 'Machines' });
  await table.getByText('Up', { exact: true }).waitFor();
  await table.getByText('this machine only').waitFor();
  await table.getByText(/handler, .*api/).waitFor();
  await page.getByRole('button', { name: /^Actions for/ }).click();
  await page.getByRole('menuitem', { name: 'Drain', disabled: true }).waitFor();
});

const pages: readonly (readonly [name: string, at: () => string])[] = [
  ['settings-general', () => `/projects/${PROJECT}/settings`],
  ['settings-variables', () => `/projects/${PROJECT}/settings/variables`],
  ['settings-domains', () => `/projects/${PROJECT}/settings/domains`],
  ['settings-git', () => `/projects/${PROJECT}/settings/git`],
  ['settings-hooks', () => `/projects/${PROJECT}/settings/hooks`],
  ['analytics-usage', () => `/projects/${PROJECT}/analytics/usage`],
  ['logs', () => `/projects/${PROJECT}/logs`],
  ['requests', () => `/projects/${PROJECT}/logs/requests`],
  ['request', () => `/projects/${PROJECT}/logs/requests?invocation=${failure}`],
  ['members', () => `/orgs/${organization.slug}/members`],
  ['organization-usage', () => `/orgs/${organization.slug}/usage`],
  ['webhooks', () => `/orgs/${organization.slug}/webhooks`],
  ['audit', () => `/orgs/${organization.slug}/audit`],
  ['backups', () => '/operator/backups'],
];
for (const [name, at] of pages)
  test(`the page ${name} fits every screen, in both themes, without a serious fault for axe`, () =>
    dashboard.inspect(name, at()));

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

// Git hosts that are used with access tokens, in the dashboard: the operator adds one, an owner connects an account,
// and a repository of it becomes a project that is deployed on each push and shows its status on the host.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { openDashboardBrowser, signIn, type DashboardBrowser } from '#test/setup/dashboard-browser.ts';
import { commitTo } from '#test/setup/git-repositories.ts';
import { giteaDialect } from '#test/setup/token-hosts/gitea.ts';
import { startTokenHost, type TestTokenHost } from '#test/setup/token-hosts/token-host.ts';
import { eventually, startWholePlatform, type WholePlatform } from '#test/setup/whole-platform.ts';

let host: TestTokenHost;
let platform: WholePlatform;
let dashboard: DashboardBrowser;
let slug: string;
before(async () => {
  host = await startTokenHost(giteaDialect);
  platform = await startWholePlatform({ GIT_REMOTE_PRIVATE_HOSTS: '127.0.0.1', HANDLER_SPARES: '0' });
  const origin = `http://localhost:${platform.ports.ui}`;
  await eventually('The dashboard', async () => (await fetch(origin)).ok);
  dashboard = await openDashboardBrowser(origin, (page) => signIn(page, origin, platform.token));
  slug = (await platform.call('GET', '/user')).organizations[0].slug;
});
afterEach(() => dashboard?.closePages());
after(async () => {
  await dashboard?.close();
  await platform?.close();
  await host?.close();
});

test('a host is added, an account connected, and a repository deployed with its status on the host', async () => {
  const shop = host.repository('acme/shop', ['ada']);
  const sha = commitTo(shop.folder, { files: { 'index.html': '<h1>shop</h1>' } });
  const page = await dashboard.visit(`/orgs/${slug}/git-hosts`);
  page.setDefaultTimeout(120_000);
  await page.getByRole('button', { name: 'Add Git host' }).click();
  await page.getByLabel('Kind').selectOption('gitea');
  await page.getByLabel('Name', { exact: true }).fill('Code');
  await page.getByLabel('URL').fill(host.url);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'Connect account' }).click();
  await page.getByLabel('Access token').fill(host.token('ada', ['write:issue']));
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByText('The token lacks read:user and write:repository').first().waitFor();
  await page.getByLabel('Access token').fill(host.token('ada'));
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByRole('row', { name: /Code ada Works/ }).waitFor();

  await page.goto(`${dashboard.origin}/new`);
  await page.getByRole('radio', { name: /^Repository on Code \(ada\)/ }).check();
  await page.getByRole('radio', { name: 'acme/shop' }).check();
  await page.getByRole('button', { name: 'Create and deploy' }).click();
  await page.waitForURL(/\/deployments\/d/);
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  const deployment = await platform.ended(id);
  assert.deepEqual([deployment.errorMessage, deployment.status, deployment.commitSha], [null, 'success', sha]);
  const succeeded = (commit: string): boolean =>
    shop.statuses.some((status) => status.sha === commit && status.state === 'success');
  await eventually('The status of the first commit', () => Promise.resolve(succeeded(sha)));

  const next = commitTo(shop.folder, { files: { 'index.html': '<h1>second</h1>' } });
  await host.tell(shop, giteaDialect.pushed(shop, 'main', sha, next));
  assert.equal(host.sent.at(-1)!.status, 202);
  await eventually('The status of the pushed commit', () => Promise.resolve(succeeded(next)));
});

test('the page of accounts fits every width in both themes, without a serious fault', () =>
  dashboard.inspect('organization-git-hosts', `/orgs/${slug}/git-hosts`, (page) =>
    page.getByRole('row', { name: /Code ada Works/ }).waitFor(),
  ));

test('no page complains', () => {
  assert.deepEqual(dashboard.complaints, []);
});

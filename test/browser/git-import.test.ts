// A project from a repository of the Git host, in the dashboard: from the sign-in there to a deployment of the default
// branch, and what the page says where there is no host, no access, or no answer.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { openDashboardBrowser, signIn, type DashboardBrowser } from '#test/setup/dashboard-browser.ts';
import { startGitHost, type TestGitHost } from '#test/setup/git-host.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { eventually, startWholePlatform, type WholePlatform } from '#test/setup/whole-platform.ts';

let host: TestGitHost;
let platform: WholePlatform;
let dashboard: DashboardBrowser;
before(async () => {
  host = await startGitHost();
  platform = await startWholePlatform({ ...host.variables, HANDLER_SPARES: '0' });
  const origin = `http://localhost:${platform.ports.ui}`;
  await eventually('The dashboard', async () => (await fetch(origin)).ok);
  dashboard = await openDashboardBrowser(origin, (page) => signIn(page, origin, platform.token));
});
afterEach(() => dashboard?.closePages());
after(async () => {
  await dashboard?.close();
  await platform?.close();
  await host?.close();
});

test('a repository is found, imported and deployed after a sign-in with the Git host', async () => {
  host.user('ada');
  host.state.signedIn = 'ada';
  // Linking opens a session in place of the page's own, which the other pages share.
  const page = await (await dashboard.browser.newContext()).newPage();
  page.setDefaultTimeout(120_000);
  await signIn(page, dashboard.origin, platform.token);
  await page.goto(`${dashboard.origin}/new`);
  await page.getByRole('radio', { name: /^Repository on 127\.0\.0\.1/ }).check();
  await page.getByText('Sign in with the Git host first').waitFor();
  await page.getByRole('link', { name: /^Sign in with/ }).click();
  await page.getByRole('button', { name: 'Continue' }).click();

  // Back at the list. The application is not installed yet.
  await page.getByText('The application of this platform has no access').waitFor();
  const install = page.getByRole('link', { name: 'Give the application access', exact: true });
  assert.equal(await install.getAttribute('href'), `${host.url}/apps/platform-test/installations/new`);
  const installation = host.installation('acme', ['ada']);
  const shop = host.repository('acme/My_Shop', installation);
  host.commit(shop, { files: { 'index.html': '<h1>shop</h1>', 'platform.yaml': 'assets: { directory: . }\n' } });
  for (let index = 0; index < 100; index++)
    host.state.repositories.push({ ...shop, id: shop.id + 1000 + index, fullName: `acme/site-${index}` });
  host.state.repositories.push({ ...shop, id: shop.id + 5000, fullName: 'acme/attic', isArchived: true });
  await page.reload();
  await page.getByRole('radio', { name: 'acme/My_Shop' }).waitFor();
  await page.getByRole('searchbox', { name: 'Search repositories' }).fill('ATTIC');
  await page.getByRole('radio', { name: 'acme/site-0' }).waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('radio', { name: /attic/ }).isDisabled(), true);
  await page.getByRole('searchbox', { name: 'Search repositories' }).fill('my_shop');
  await page.getByRole('radio', { name: 'acme/My_Shop' }).check();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'my-shop');

  // The Git host fails when the repository is connected: nothing of the form is lost.
  host.state.failures.push(500, 500, 500);
  await page.getByRole('button', { name: 'Create and deploy' }).click();
  await page.getByRole('alert').filter({ hasText: 'The Git host answered 500 to GET /user/installations' }).waitFor();
  assert.deepEqual(
    (await platform.call('GET', '/projects')).items
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => name === 'my-shop'),
    [],
  );
  await page.getByRole('button', { name: 'Create and deploy' }).click();
  await page.waitForURL(/\/deployments\/d/);
  const [project] = (await platform.call('GET', '/projects?search=my-shop')).items;
  assert.equal(project.name, 'my-shop');
  assert.notEqual(project.repositoryId, null);
  assert.deepEqual([project.lastDeployment.branch, project.lastDeployment.target], ['main', 'production']);
});

test('while the Git host is away the page says so, and lists again on request', async () => {
  // Reports of the deployment ask the Git host, too.
  host.state.failures.push(...Array.from({ length: 1000 }, () => 503));
  const page = await dashboard.visit('/new?from=git-host');
  await page.getByText('Could not load repositories').waitFor();
  await page.getByText('The Git host answered 503 to GET /user/installations').waitFor();
  host.state.failures.length = 0;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('radio', { name: 'acme/My_Shop' }).waitFor();
});

test('the list fits every width in both themes, without a serious fault', () =>
  dashboard.inspect('new-project-git-host', '/new?from=git-host', (page) =>
    page.getByRole('radio', { name: 'acme/My_Shop' }).waitFor(),
  ));

test('no page complains', () => {
  assert.deepEqual(dashboard.complaints, []);
});

test('without a Git host the page says how to connect one', async () => {
  const shared: SharedDashboard = await openSharedDashboard('no-git-host');
  try {
    const page = await shared.visit('/new?from=git-host');
    await page.getByText('No Git host is connected').waitFor();
    assert.equal(
      await page.getByRole('link', { name: 'How to connect a Git host' }).getAttribute('href'),
      '/docs/git-host',
    );
  } finally {
    await shared.close();
  }
});

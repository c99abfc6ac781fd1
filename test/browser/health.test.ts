// Is my app healthy, why did it fail, what now: the overview of a project, its analytics, two deployments compared, the
// overview of an organization, the operator's page and the graph of an alert, in Chromium, in each width and theme.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { send } from '#test/setup/send.ts';
import { API_PAUSE_MS, eventually, type Json } from '#test/setup/whole-platform.ts';

const PROJECT = 'healthy-shop';
/** @param failing the path that answers 500 */
const worker = (failing: string): string => `export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/moved') return Response.redirect('http://healthy-shop.localhost/', 302);
    if (pathname === '/missing') return new Response('none', { status: 404 });
    if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 2000));
    if (pathname === ${JSON.stringify(failing)}) {
      console.error(new Error('the till is empty'));
      return new Response('bad', { status: 500 });
    }
    return new Response('ok');
  },
};
`;
const requests: Readonly<Record<string, number>> = { '/': 11, '/moved': 2, '/missing': 3, '/slow': 1, '/pay': 3 };

let dashboard: SharedDashboard;
let project: Json;
let rule: Json;
let deployments: readonly string[];

async function deploy(failing: string): Promise<void> {
  const { platform } = dashboard;
  const folder = path.join(platform.folder, PROJECT);
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), `kind: worker\nname: ${PROJECT}\n`);
  writeFileSync(path.join(folder, 'src/index.ts'), worker(failing));
  await platform.cli(folder, 'deploy');
  for (const [at, count] of Object.entries(requests))
    for (let index = 0; index < count; index++) await send(platform.ports.handler, `${PROJECT}.localhost`, at);
}

before(async () => {
  dashboard = await openSharedDashboard('health');
  const { platform, organization } = dashboard;
  await deploy('/never');
  await deploy('/pay');
  [project] = (await platform.call('GET', `/orgs/${organization.id}/projects`)).items;
  const ask = (what: string): Promise<Json> => platform.call('GET', `/projects/${project.id}/${what}`);
  await eventually('The requests', async () => (await ask('analytics')).totals.requests === 40, API_PAUSE_MS);
  const channel = { name: 'team', kind: 'slack', url: 'https://hooks.example.com/x' };
  const { id } = await platform.call('POST', `/projects/${project.id}/alert-channels`, channel);
  const body = { name: 'Too many errors', kind: 'error_rate', threshold: 5, evaluations: 1, channels: [id] };
  rule = await platform.call('POST', `/projects/${project.id}/alert-rules`, body);
  const { items } = await platform.call('GET', `/deployments?projectId=${project.id}`);
  // The newest first.
  deployments = (items as Json[]).map(({ id: deployment }) => deployment);
  await eventually('The alert', async () => (await ask('alert-rules'))[0].state === 'firing', API_PAUSE_MS);
  await eventually(
    'The failures',
    async () => (await ask('invocations?outcome=failed')).items.length === 3,
    API_PAUSE_MS,
  );
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

test('the overview says what fires, how the last hour was, and why the last request failed', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}`);
  await page.getByText('1 alert is firing').waitFor();
  const hour = page.getByRole('region', { name: 'Last hour' });
  await hour.getByText('40', { exact: true }).waitFor();
  await hour.getByText('3 (7.5 %)', { exact: true }).waitFor();
  await hour.getByText(/slowest: \/slow/).waitFor();
  await hour.getByText('of 1,000 ms').waitFor();
  const failure = page.getByRole('region', { name: 'Last failure' });
  await failure.getByText('GET /pay').waitFor();
  await failure.getByText('Error: the till is empty').waitFor();
  await failure.getByText(/at src\/index\.ts:\d+:\d+/).waitFor();
  await failure.getByRole('link', { name: 'View log' }).click();
  await page.getByRole('dialog').getByText('GET /pay').waitFor();
});

test('the overview of the organization says what fires in its projects', async () => {
  const page = await dashboard.visit(`/orgs/${dashboard.organization.slug}`);
  const notice = page
    .getByRole('listitem')
    .filter({ hasText: `${PROJECT}: Too many errors: 3 of 40 invocations failed` });
  await notice.getByRole('link', { name: 'Too many errors' }).click();
  await page.waitForURL(/\/settings\/alerts\?rule=/);
  await page
    .getByRole('dialog')
    .getByRole('img', { name: /threshold of 5 %/ })
    .waitFor();
});

test('the list of rules says which one is firing since when, and the history that it fired', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/alerts`);
  const row = page.getByRole('table', { name: 'Rules' }).getByRole('row', { name: /Too many errors/ });
  await row.getByText('Firing').waitFor();
  await row.getByText('3 of 40 invocations failed').waitFor();
  await page.getByRole('table', { name: 'Alerts' }).getByText('Fired').waitFor();
});

const firing: readonly (readonly [name: string, at: () => string])[] = [
  ['firing-overview', () => `/projects/${PROJECT}`],
  ['firing-rules', () => `/projects/${PROJECT}/settings/alerts`],
  ['firing-graph', () => `/projects/${PROJECT}/settings/alerts?rule=${rule.id}`],
  ['firing-organization', () => `/orgs/${dashboard.organization.slug}`],
];
for (const [name, at] of firing)
  test(`the page ${name} shows the alert on every screen, in both themes, without a fault for axe`, () =>
    dashboard.inspect(name, at()));

test('a firing alert leads to its graph, and its rule is edited', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}`);
  await page.getByRole('link', { name: 'Too many errors' }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByRole('img', { name: /Failed invocations.*threshold of 5 %/ }).waitFor();
  await sheet.getByText('team').waitFor();
  await sheet.getByRole('button', { name: 'Edit rule' }).click();
  const form = page.getByRole('dialog', { name: 'Edit Too many errors' });
  assert.equal(await form.getByLabel('Failed invocations (%)').inputValue(), '5');
  assert.equal(await form.getByLabel('Resolves below').inputValue(), '4');
  assert.equal(await form.getByLabel('Metric').count(), 0);
  await form.getByLabel('Failed invocations (%)').fill('60');
  await form.getByLabel('Resolves below').fill('50');
  await form.getByRole('button', { name: 'Save rule' }).click();
  await page.getByText('60 % of invocations fail').first().waitFor();
  const [changed] = await dashboard.platform.call('GET', `/projects/${project.id}/alert-rules`);
  assert.deepEqual(
    [changed.threshold, changed.clearBelow, changed.evaluations, changed.channels.length],
    [60, 50, 1, 1],
  );
});

test('analytics narrow to a route, a kind, a deployment and a period, which are in the address', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/analytics`);
  const routes = page.getByRole('table', { name: 'Routes' });
  await page.getByLabel('Sort routes by').selectOption('latency');
  await page.waitForURL(/order=latency/);
  await eventually('The slowest first', async () => /\/slow/.test(await routes.getByRole('row').nth(1).innerText()));
  await page.getByLabel('Sort routes by').selectOption('errors');
  await eventually('The most failing first', async () =>
    /\/pay/.test(await routes.getByRole('row').nth(1).innerText()),
  );
  await routes.getByText('/pay').click();
  await page.waitForURL(/route=%2Fpay/);
  await page.getByText('3 (50 %)').first().waitFor();
  await page.getByRole('button', { name: 'Remove filter: route' }).click();
  await page.getByLabel('Time range').selectOption('own');
  await page.waitForURL(/from=.*to=/);
  await page.getByLabel('From').waitFor();
  await page.getByLabel('Time range').selectOption('15m');
  await page.getByLabel('Kind').selectOption('queue');
  await page.getByText('No requests in this period').waitFor();
});

test('two deployments are compared, and the worse is named', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/analytics`);
  await page.getByRole('button', { name: 'Compare last two deployments' }).click();
  await page.waitForURL(new RegExp(`deployment=${deployments[0]}&compare=${deployments[1]}`));
  const table = page.getByRole('table', { name: 'Compared deployments' });
  const failed = table.getByRole('row', { name: /^Failed/ });
  await failed.getByText('15 %').waitFor();
  await failed.getByText('worse').waitFor();
  const pay = page.getByRole('table', { name: 'Routes' }).getByRole('row', { name: /\/pay/ });
  await pay.getByText('was 0').first().waitFor();
});

test('an organization shows its busiest and most failing projects, the operator those of all', async () => {
  const page = await dashboard.visit(`/orgs/${dashboard.organization.slug}`);
  const row = page.getByRole('table', { name: 'Projects' }).getByRole('row', { name: /healthy-shop/ });
  await row.getByText('3 (7.5 %)').waitFor();
  await row.getByRole('link', { name: PROJECT }).click();
  await page.waitForURL(/\/projects\/healthy-shop$/);
  const health = await dashboard.visit('/operator/health?order=errors');
  await health
    .getByRole('table', { name: 'Projects' })
    .getByRole('row', { name: /healthy-shop/ })
    .waitFor();
  await health.getByRole('img', { name: /^Memory: \d+ %$/ }).waitFor();
  await health.getByRole('table', { name: 'Engines' }).getByText('Listening').first().waitFor();
  // Commands in sentences of the API are code.
  await health.getByRole('table', { name: 'Checks' }).waitFor();
  assert.doesNotMatch(await health.locator('main').innerText(), /`/);
});

const pages: readonly (readonly [name: string, at: () => string])[] = [
  ['overview', () => `/projects/${PROJECT}`],
  ['analytics', () => `/projects/${PROJECT}/analytics`],
  ['analytics-compared', () => `/projects/${PROJECT}/analytics?deployment=${deployments[0]}&compare=${deployments[1]}`],
  ['alert-graph', () => `/projects/${PROJECT}/settings/alerts?rule=${rule.id}`],
  ['organization-overview', () => `/orgs/${dashboard.organization.slug}`],
  ['operator-health', () => '/operator/health'],
];
for (const [name, at] of pages)
  test(`the page ${name} fits every screen, in both themes, without a fault for axe`, () =>
    dashboard.inspect(name, at()));

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

// Sandboxes in the dashboard of production in Chromium: those of a project, the size of machines that builds run on,
// and a build from nothing.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { eventually, type Json } from '#test/setup/whole-platform.ts';

let dashboard: SharedDashboard;
let organization: Json;
let projectId: string;
let deployment: string;

const PROJECT = 'boxed-shop';

const ask = (method: string, at: string, body?: unknown): Promise<Json> =>
  dashboard.platform.call(method, `/projects/${projectId}${at}`, body);

before(async () => {
  dashboard = await openSharedDashboard('sandboxes');
  const { platform } = dashboard;
  ({ organization } = dashboard);
  ({ id: projectId } = await platform.call('POST', '/projects', { name: PROJECT, organizationId: organization.id }));
  const folder = path.join(platform.folder, PROJECT);
  mkdirSync(path.join(folder, 'src'), { recursive: true });
  writeFileSync(path.join(folder, 'platform.yaml'), `name: ${PROJECT}\nsandbox: { BOX: boxes }\n`);
  writeFileSync(path.join(folder, 'src/index.ts'), "export default { fetch: () => new Response('one') };\n");
  await platform.git(folder, 'init', '-q', '-b', 'main');
  await platform.git(folder, 'add', '-A');
  await platform.git(folder, 'commit', '-qm', 'Drive machines');
  await platform.git(
    folder,
    'push',
    '-q',
    `http://git:${platform.token}@127.0.0.1:${platform.ports.api}/git/${PROJECT}.git`,
    'main',
  );
  const pushed = await eventually<Json>('The deployment', async () => {
    const { items } = await platform.call('GET', `/deployments?projectId=${projectId}&limit=1`);
    return items[0];
  });
  const ended = await platform.ended(pushed.id);
  assert.equal(ended.status, 'success', ended.errorMessage ?? '');
  deployment = ended.id;
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

const LIST = `/projects/${PROJECT}/storage/sandboxes/BOX`;
const says = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

test('a project without sandboxes is told how one is made', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/storage`);
  await says(page, 'No sandboxes yet');
  await says(page, "await env.BOX.get('user-1').exec('echo hello')");
});

test('sandboxes are listed, found, suspended, resumed and destroyed', async () => {
  await ask('POST', '/sandboxes/BOX/user-1/exec', { command: 'echo > kept' });
  await ask('POST', '/sandboxes/BOX/user-2/resume?machine=large');
  await ask('POST', '/sandboxes/BOX/other/resume');
  await dashboard.inspect('sandboxes', LIST);
  const page = await dashboard.visit(`${LIST}?prefix=user`);
  await page.getByRole('row', { name: /user-1 running local default/ }).waitFor();
  await page.getByRole('row', { name: /user-2 running local large/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /other/ }).count(), 0);
  await page.getByRole('button', { name: 'Suspend user-1' }).click();
  await page.getByRole('button', { name: 'Change production' }).click();
  await page.getByRole('row', { name: /user-1 suspended/ }).waitFor();
  assert.equal((await ask('GET', '/sandboxes/BOX/user-1')).state, 'suspended');
  await page.getByRole('button', { name: 'Resume user-1' }).click();
  await page.getByRole('row', { name: /user-1 running/ }).waitFor();
  await page.getByRole('button', { name: 'Destroy user-1' }).click();
  await says(page, 'Destroy user-1?');
  await page.getByRole('button', { name: 'Destroy', exact: true }).click();
  await says(page, 'user-1 destroyed');
  await page.getByRole('row', { name: /user-1/ }).waitFor({ state: 'detached' });
  assert.deepEqual(
    (await ask('GET', '/sandboxes/BOX')).items.map(({ id }: Json) => id),
    ['other', 'user-2'],
  );
});

test('the exposed ports of a sandbox are listed, and taken back', async () => {
  const { url } = await ask('POST', '/sandboxes/BOX/other/ports', { port: 8080, name: 'shop window', auth: 'public' });
  const page = await dashboard.visit(LIST);
  await page.getByRole('button', { name: 'Ports of user-2' }).click();
  await says(page, 'No exposed ports');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Ports of other' }).click();
  await page.getByRole('row', { name: /8080 shop window .* public/ }).waitFor();
  assert.equal(await page.getByRole('link', { name: url }).getAttribute('href'), url);
  await page.getByRole('button', { name: 'Unexpose 8080' }).click();
  await page.getByRole('button', { name: 'Change production' }).click();
  await says(page, 'No exposed ports');
  assert.deepEqual((await ask('GET', '/sandboxes/BOX/other/ports')).items, []);
});

test('an owner chooses the build machine of the organization', async () => {
  const at = `/orgs/${organization.slug}/settings`;
  await dashboard.inspect('build-machine', at);
  const page = await dashboard.visit(at);
  await page.getByLabel('Build Machine').selectOption('xlarge');
  await says(page, 'Build machine set to xlarge');
  assert.equal((await dashboard.platform.call('GET', `/orgs/${organization.id}`)).buildMachine, 'xlarge');
  await page.getByLabel('Build Machine').selectOption('');
  await says(page, 'Build machine set to the default');
  assert.equal((await dashboard.platform.call('GET', `/orgs/${organization.id}`)).buildMachine, null);
});

test('a build cache is cleared from the page of a deployment', async () => {
  const page = await dashboard.visit(`/deployments/${deployment}`);
  await page.getByRole('button', { name: 'Clear build cache' }).click();
  await says(page, 'Clear the build cache?');
  await page.getByRole('button', { name: 'Clear and rebuild' }).click();
  await page.waitForURL((url) => url.pathname.startsWith('/deployments/') && !url.pathname.endsWith(deployment));
  const { items } = await dashboard.platform.call('GET', `/deployments?projectId=${projectId}&limit=1`);
  assert.notEqual(items[0].id, deployment);
  assert.equal((await dashboard.platform.ended(items[0].id)).status, 'success');
});

test('no page complains', () => {
  assert.deepEqual(dashboard.complaints, []);
});

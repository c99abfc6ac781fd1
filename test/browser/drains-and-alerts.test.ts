// Log drains, alerts and the collector in the dashboard, in Chromium: they are made by their forms, tried by their
// buttons at a receiver on this machine, and their pages fit each width and theme.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { openHttpReceiver, type HttpReceiver } from '#test/setup/http-receiver.ts';
import { until } from '#test/setup/until.ts';
import type { Json } from '#test/setup/whole-platform.ts';

let dashboard: SharedDashboard;
let receiver: HttpReceiver;
let project: Json;

const PROJECT = 'drained-shop';

before(async () => {
  dashboard = await openSharedDashboard('drains');
  receiver = await openHttpReceiver();
  const { platform, organization } = dashboard;
  project = await platform.call('POST', '/projects', { name: PROJECT, organizationId: organization.id });
  // The forms ask for public addresses alone.
  const target = { kind: 'http', url: `${receiver.url}/in`, headers: { authorization: 'Bearer t0p' } };
  await platform.call('POST', `/projects/${project.id}/drains`, { name: 'search', target, allowPrivate: true });
  const chat = { name: 'team', kind: 'slack', url: `${receiver.url}/hook`, allowPrivate: true };
  await platform.call('POST', `/projects/${project.id}/alert-channels`, chat);
});
afterEach(() => dashboard?.closePages());
after(async () => {
  await dashboard?.close();
  await receiver?.goAway();
});

test('a drain is made by its form, and its keys are not shown again', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/drains`);
  await page.getByRole('button', { name: 'New drain' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('archive');
  await dialog.getByLabel('Target').selectOption('s3');
  await dialog.getByLabel('Endpoint').fill('http://10.0.0.1');
  await dialog.getByLabel('Bucket').fill('acme-logs');
  await dialog.getByLabel('Region').fill('eu-central-1');
  await dialog.getByLabel('Prefix').fill('platform');
  await dialog.getByLabel('Access key ID').fill('AKIA');
  await dialog.getByLabel('Secret access key').fill('s3cr3t');
  await dialog.getByRole('button', { name: 'Create drain' }).click();
  await dialog.getByText('must begin with https://').waitFor();
  await dialog.getByLabel('Endpoint').fill('https://s3.example.com');
  await dialog.getByRole('button', { name: 'Create drain' }).click();
  await page.getByRole('cell', { name: 's3://acme-logs/platform' }).waitFor();
  assert.equal(await page.getByText('s3cr3t').count(), 0);
  const [, made] = await dashboard.platform.call('GET', `/projects/${project.id}/drains`);
  assert.deepEqual([made.name, made.target.bucket, made.state], ['archive', 'acme-logs', 'on']);
});

test('a drain is tried by its button, and switched off', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/drains`);
  await page.getByRole('button', { name: 'Actions for search' }).click();
  await page.getByRole('menuitem', { name: 'Send test' }).click();
  await page.getByText('Test delivered').waitFor();
  const [line] = receiver.received.map(({ body }) => JSON.parse(body) as Json);
  assert.equal(line.text, 'A test of this log drain');
  await page.getByRole('button', { name: 'Actions for search' }).click();
  await page.getByRole('menuitem', { name: 'Disable' }).click();
  await page
    .getByRole('row', { name: /search/ })
    .getByText('Disabled')
    .waitFor();
});

test('a rule is made by its form, and a channel tried by its button; the history says what came of it', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/alerts`);
  await page.getByRole('button', { name: 'New rule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Too many errors');
  await dialog.getByLabel('Failed invocations (%)').fill('12');
  await dialog.getByLabel('Consecutive evaluations').fill('3');
  await dialog.getByLabel('Quiet minutes').fill('60');
  await dialog.getByLabel('Window (minutes)').fill('10');
  await dialog.getByLabel('Resolves below').fill('13');
  await dialog.getByRole('button', { name: 'Create rule' }).click();
  await dialog.getByText('clearBelow: must not be above the threshold').waitFor();
  await dialog.getByLabel('Resolves below').fill('4');
  await dialog.getByRole('button', { name: 'Create rule' }).click();
  await page.getByRole('cell', { name: '12 % of invocations fail' }).waitFor();
  const [rule] = await dashboard.platform.call('GET', `/projects/${project.id}/alert-rules`);
  assert.deepEqual([rule.name, rule.kind, rule.channels.length], ['Too many errors', 'error_rate', 1]);
  assert.deepEqual(
    [rule.threshold, rule.clearBelow, rule.evaluations, rule.windowMinutes, rule.quietMinutes],
    [12, 4, 3, 10, 60],
  );
  const before = receiver.received.length;
  await page.getByRole('button', { name: 'Actions for team' }).click();
  await page.getByRole('menuitem', { name: 'Send test' }).click();
  await until(() => receiver.received.length > before);
  assert.match((JSON.parse(receiver.received.at(-1)!.body) as Json).text, /^Test: team \(drained-shop\)\n/);
  await page.getByText('team: delivered').waitFor();
});

test('the form of a channel offers no email where the platform sends none', async () => {
  const page = await dashboard.visit('/operator/alerts');
  await page.getByRole('button', { name: 'New channel' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('This platform cannot send email').waitFor();
  assert.deepEqual(await dialog.getByLabel('Kind').getByRole('option').allTextContents(), [
    'Webhook',
    'Slack',
    'Discord',
  ]);
});

test('a rule of certificates asks for days, and for no window and no end', async () => {
  const page = await dashboard.visit('/operator/alerts');
  await page.getByRole('button', { name: 'New rule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Certificates');
  await dialog.getByLabel('Metric').selectOption('certificate');
  assert.equal(await dialog.getByLabel('Window (minutes)').count(), 0);
  assert.equal(await dialog.getByLabel('Resolves below').count(), 0);
  await dialog.getByLabel('Days before expiry').fill('21');
  await dialog.getByLabel('Consecutive evaluations').fill('1');
  await dialog.getByRole('button', { name: 'Create rule' }).click();
  await page.getByRole('cell', { name: '21 days before a certificate expires' }).waitFor();
  const [rule] = await dashboard.platform.call('GET', '/operator/alert-rules');
  assert.deepEqual([rule.kind, rule.threshold, rule.evaluations], ['certificate', 21, 1]);
});

test('a collector is set by its form, its headers are not shown, and it is removed unless that is undone', async () => {
  const page = await dashboard.visit(`/projects/${PROJECT}/settings/collector`);
  await page.getByText('No collector yet').waitFor();
  await page.getByRole('button', { name: 'Set collector' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('URL').fill('https://otel.example.com/v1/traces');
  await dialog.getByLabel('Headers').fill('authorization');
  await dialog.getByRole('button', { name: 'Set collector' }).click();
  await dialog.getByText('Line 1 of the headers is not "name: value"').waitFor();
  await dialog.getByLabel('Headers').fill('authorization: Bearer t0p\nx-team: shop');
  await dialog.getByRole('button', { name: 'Set collector' }).click();
  await page.getByText('authorization, x-team').waitFor();
  assert.equal(await page.getByText('t0p').count(), 0);
  const read = (): Promise<Json> => dashboard.platform.call('GET', `/projects/${project.id}/collector`);
  assert.equal((await read()).collector.url, 'https://otel.example.com/v1/traces');
  await page.getByRole('button', { name: 'Remove collector' }).click();
  await page.getByText('No collector yet').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('authorization, x-team').waitFor();
  assert.notEqual((await read()).collector, null);
});

const pages = [
  ['settings-drains', `/projects/${PROJECT}/settings/drains`],
  ['settings-collector', `/projects/${PROJECT}/settings/collector`],
  ['settings-alerts', `/projects/${PROJECT}/settings/alerts`],
  ['operator-alerts', '/operator/alerts'],
] as const;
for (const [name, at] of pages)
  test(`the page ${name} fits every screen, in both themes, without a serious fault for axe`, () =>
    dashboard.inspect(name, at));

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

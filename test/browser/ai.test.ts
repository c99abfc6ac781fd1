// AI in the dashboard, in Chromium: a key is made by its form and used, a provider and names are set, the calls are
// shown with their tokens, and the pages fit each width and theme.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { createProject } from '#packages/create/project.ts';
import { send } from '#test/setup/send.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import type { Json } from '#test/setup/whole-platform.ts';

const root = path.join(import.meta.dirname, '../..');
let dashboard: SharedDashboard;
let organization: Json;

before(async () => {
  dashboard = await openSharedDashboard('ai');
  ({ organization } = dashboard);
  await dashboard.platform.call('POST', '/projects', { name: 'ai-shop', organizationId: organization.id });
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

const chat = (key: string, body: object): Promise<Response> =>
  fetch(`http://localhost:${dashboard.platform.ports.api}/ai/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello from outside' }], ...body }),
  });

test('a key is made by its form, serves a program, and its calls are counted', async () => {
  const page = await dashboard.visit(`/orgs/${organization.slug}/ai`);
  await page.getByText('No AI calls in this period').waitFor();
  // The operator of this platform has set the mock alone.
  await page.getByText('Using mock responses').waitFor();
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('notebook');
  await dialog.getByRole('button', { name: 'Add limit' }).click();
  await dialog.getByLabel('Unit: tokens per minute').selectOption('requests per day');
  await dialog.getByLabel('Maximum requests per day').fill('2');
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('New key: shown only once').waitFor();
  const key = (await page.locator('pre', { hasText: 'pk_ai_' }).textContent())!;
  // What lies under a dialog has no roles.
  await page.locator('td', { hasText: '2 requests per day' }).waitFor();

  const answered = await chat(key, { model: 'auto' });
  assert.equal(answered.status, 200);
  const { choices, usage } = (await answered.json()) as Json;
  assert.equal(choices[0].message.content, 'Hello from outside');
  assert.equal((await chat(key, { model: 'mock/fail' })).status, 502);
  const refused = await chat(key, { model: 'auto' });
  assert.equal(refused.status, 429);
  assert.equal(((await refused.json()) as Json).error.message, 'requests per day of the key: 2 of 2 used');

  await page.reload();
  const row = page.getByRole('table', { name: 'Models' }).getByRole('row', { name: /mock\/echo/ });
  await row.waitFor();
  assert.match(
    await row.innerText(),
    new RegExp(`mock/echo\\s+1\\s+0\\s+${usage.prompt_tokens}\\s+${usage.completion_tokens}\\s`),
  );
  await page.getByRole('button', { name: 'Revoke notebook' }).click();
  await page.getByText('notebook revoked').waitFor();
  await page.getByText('No keys').waitFor();
});

test('a provider is made by its form, refused where its URL is private, and its key is not shown', async () => {
  const page = await dashboard.visit(`/orgs/${organization.slug}/ai`);
  await page.getByRole('button', { name: 'New provider' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('acme');
  await dialog.getByLabel('URL').fill('https://169.254.169.254/v1');
  await dialog.getByLabel('Key').fill('sk-of-acme');
  await dialog.getByLabel('Models').fill('small, large');
  await dialog.getByRole('button', { name: 'Create provider' }).click();
  await dialog.getByText('must not lead to a private address').waitFor();
  await dialog.getByLabel('URL').fill('https://models.example/v1');
  await dialog.getByRole('button', { name: 'Create provider' }).click();
  const row = page.getByRole('table', { name: 'Providers' }).getByRole('row', { name: /acme/ });
  await row.getByText('set').waitFor();
  assert.equal(await page.getByText('sk-of-acme').count(), 0);
  await page.getByRole('button', { name: 'Actions for acme' }).click();
  await page.getByRole('menuitem', { name: 'Disable' }).click();
  await row.getByText('Disabled').waitFor();
  const { providers } = await dashboard.platform.call('GET', `/orgs/${organization.id}/ai`);
  assert.deepEqual(
    providers.map(({ name, hasKey, enabled, models }: Json) => [name, hasKey, enabled, models]),
    [['acme', true, false, ['small', 'large']]],
  );
});

test('names of models and limits are set by a form', async () => {
  const page = await dashboard.visit(`/orgs/${organization.slug}/ai`);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Aliases').fill('fast = no-slash');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Aliases').fill('fast = mock/echo');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Models and limits updated').waitFor();
  await page.getByRole('definition').getByText('fast = mock/echo').waitFor();
  const settings = await dashboard.platform.call('GET', `/orgs/${organization.id}/ai`);
  assert.deepEqual([settings.aliases, settings.auto, settings.limits], [{ fast: 'mock/echo' }, [], []]);
});

test('the budget of a project is set by its form, and shown with what is spent', async () => {
  const page = await dashboard.visit('/projects/ai-shop/ai');
  await page.getByRole('button', { name: 'Edit limits' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add limit' }).click();
  await dialog.getByLabel('Unit: tokens per minute').selectOption('cost per month');
  await dialog.getByLabel('Maximum cost per month').fill('12.5');
  await dialog.getByRole('button', { name: 'Save limits' }).click();
  await page.getByText('a cost of 12.5 per month').waitFor();
  const month = page.getByRole('region', { name: 'Cost this month' });
  await month.getByText('0 of 12.5').waitFor();
  await month.getByText('Forecast: 0').waitFor();
});

test('a run of an agent is shown as what it said and did, and its calls lead to it', async () => {
  const { platform } = dashboard;
  // Below the checkout's own node_modules, where the packages' own packages are.
  const folder = mkdtempSync(path.join(root, 'node_modules/.test-'));
  try {
    createProject('agent', path.join(folder, 'bot'));
    mkdirSync(path.join(folder, 'bot/node_modules/@platform-run'), { recursive: true });
    symlinkSync(path.join(root, 'packages/agent'), path.join(folder, 'bot/node_modules/@platform-run/agent'));
    await platform.cli(path.join(folder, 'bot'), 'deploy', '--prod');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { status, text } = await send(
    platform.ports.handler,
    `bot.localhost:${platform.ports.handler}`,
    '/api/messages',
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: 'Roll a die, please' }),
    },
  );
  assert.equal(status, 200, text);
  const page = await dashboard.visit('/projects/bot/jobs/agents/PLATFORM_AGENT_WORKFLOW');
  await page.getByRole('row', { name: /Completed/ }).click();
  const timeline = page.getByRole('dialog').getByRole('list', { name: 'Timeline' });
  await timeline.getByText(/^The tool says: [1-6]$/).waitFor();
  const tool = timeline.locator('details');
  await tool.getByText('roll_dice').click();
  assert.match(await tool.innerText(), /Arguments\s+\{\}\s+Result\s+[1-6]$/);
  await dashboard.inspect('agent-run', page.url().slice(dashboard.origin.length));

  const calls = await dashboard.visit('/projects/bot/ai');
  const rows = calls.getByRole('table', { name: 'AI calls' }).getByRole('row');
  await rows.nth(2).waitFor();
  assert.equal(await rows.count(), 3);
  await rows.nth(1).getByRole('link').click();
  await calls
    .getByRole('dialog')
    .getByText(/^The tool says: [1-6]$/)
    .first()
    .waitFor();
});

test('the pages of AI fit each width and theme', async () => {
  await dashboard.inspect('organization-ai', `/orgs/${organization.slug}/ai`);
  await dashboard.inspect('project-ai', '/projects/ai-shop/ai');
});

test('no page complained', () => {
  assert.deepEqual(dashboard.complaints, []);
});

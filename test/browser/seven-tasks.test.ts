// Seven things that people come for, from a project's overview: each takes at most two clicks and scrolls, typing not
// counted. Over a project that has served, pushed by Git.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { send } from '#test/setup/send.ts';
import { API_PAUSE_MS, eventually, type Json } from '#test/setup/whole-platform.ts';

const PROJECT = 'watched-shop';
const STEPS_MAX = 2;
const worker = `export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    console.log('asked for ' + pathname);
    if (pathname === '/slow') await new Promise((resolve) => setTimeout(resolve, 2000));
    if (pathname === '/e500') return new Response('bad', { status: 500 });
    if (pathname === '/ask') await env.AI.run('auto', { messages: [{ role: 'user', content: 'Hello' }] });
    return new Response('ok');
  },
};
`;
const requests: Readonly<Record<string, number>> = { '/': 15, '/slow': 1, '/e500': 3, '/ask': 1 };

let dashboard: SharedDashboard;
let projectId: string;
let folder: string;

const write = (file: string, text: string): void => {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
};

/** Commits everything and pushes it. Ends with the build. */
async function push(subject: string): Promise<void> {
  const { platform } = dashboard;
  await platform.git(folder, 'add', '-A');
  await platform.git(folder, 'commit', '-qm', subject);
  const remote = `http://git:${platform.token}@127.0.0.1:${platform.ports.api}/git/${PROJECT}.git`;
  // A push whose build does not succeed is stored, and exits with 1.
  await platform.git(folder, 'push', '-q', remote, 'main').catch(() => undefined);
}

const newest = async (): Promise<Json> =>
  (await dashboard.platform.call('GET', `/deployments?projectId=${projectId}&limit=1`)).items[0];

before(async () => {
  dashboard = await openSharedDashboard('tasks');
  const { platform, organization } = dashboard;
  ({ id: projectId } = await platform.call('POST', '/projects', { name: PROJECT, organizationId: organization.id }));
  folder = path.join(platform.folder, PROJECT);
  write('platform.yaml', `name: ${PROJECT}\nai: true\ndb:\n  DB: orders\n`);
  write(
    'migrations/0001_orders.sql',
    `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT);\nINSERT INTO orders (item) VALUES ('tea');\n`,
  );
  write('src/index.ts', worker);
  await platform.git(folder, 'init', '-q', '-b', 'main');
  await push('Open the shop');
  assert.equal((await platform.ended((await newest()).id)).status, 'success');
  for (const [at, count] of Object.entries(requests))
    for (let index = 0; index < count; index++) await send(platform.ports.handler, `${PROJECT}.localhost`, at);
  write('src/index.ts', `import { missing } from './nowhere.ts';\nexport default { fetch: () => missing };\n`);
  await push('Break the build');
  const ask = (what: string): Promise<Json> => platform.call('GET', `/projects/${projectId}/${what}`);
  await eventually('The requests', async () => (await ask('analytics')).totals.requests === 20, API_PAUSE_MS);
  await eventually('The AI call', async () => (await ask('ai/usage')).totals.calls === 1, API_PAUSE_MS);
  await eventually(
    'The failures',
    async () => (await ask('invocations?outcome=failed')).items.length === 3,
    API_PAUSE_MS,
  );
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

/** A page whose clicks and scrolls are counted. */
interface CountedPage {
  readonly page: Page;
  /** Scrolls to an element if it is out of view, and clicks it. */
  click(target: Locator): Promise<void>;
  /** Waits for an element, and scrolls to it if it is out of view. */
  see(target: Locator): Promise<void>;
  /** Asserts that there were at most two. */
  end(context: TestContext): void;
}

async function startAtOverview(): Promise<CountedPage> {
  const page = await dashboard.visit(`/projects/${PROJECT}`);
  let [clicks, scrolls] = [0, 0];
  const reach = async (target: Locator): Promise<void> => {
    await target.waitFor();
    const box = (await target.boundingBox())!;
    const { height } = page.viewportSize()!;
    if (box.y >= 0 && box.y + box.height <= height) return;
    scrolls++;
    await target.scrollIntoViewIfNeeded();
  };
  return {
    page,
    see: reach,
    async click(target) {
      await reach(target);
      clicks++;
      await target.click();
    },
    end(context) {
      context.diagnostic(`clicks: ${clicks}, scrolls: ${scrolls}`);
      assert.ok(clicks + scrolls <= STEPS_MAX, `${clicks} clicks and ${scrolls} scrolls`);
    },
  };
}

const entry = (page: Page, name: string): Locator =>
  page.getByRole('navigation', { name: PROJECT }).getByRole('link', { name, exact: true });

test('why the last deployment failed', async (context) => {
  const { page, see, end } = await startAtOverview();
  await see(page.getByRole('region', { name: 'Last deployment failed' }).getByText('nowhere.ts').first());
  end(context);
});

test('the slowest route', async (context) => {
  const { page, see, end } = await startAtOverview();
  await see(page.getByRole('region', { name: 'Last hour' }).getByText(/slowest: \/slow/));
  end(context);
});

test('p50, p99 and errors of the last hour', async (context) => {
  const { page, see, end } = await startAtOverview();
  const hour = page.getByRole('region', { name: 'Last hour' });
  await see(hour.getByText(/^p99 \d/));
  await see(hour.getByText(/p50 \d/));
  await see(hour.getByText('3 (15 %)', { exact: true }));
  end(context);
});

test('the log of one request', async (context) => {
  const { page, click, see, end } = await startAtOverview();
  await click(entry(page, 'Logs'));
  await click(page.getByRole('log').getByText('asked for /slow').first());
  await see(page.getByRole('dialog').getByText('asked for /slow'));
  end(context);
});

test('a cell of a table, edited', async (context) => {
  const { page, click, end } = await startAtOverview();
  await click(entry(page, 'Storage'));
  await click(page.getByRole('grid').getByText('tea', { exact: true }));
  await page.getByRole('dialog').getByLabel('Value', { exact: true }).waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('coffee');
  await page.keyboard.press('Control+Enter');
  await page.getByText(`Change production of ${PROJECT}?`).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('item updated').waitFor();
  end(context);
  const { rows } = await dashboard.platform.call('POST', `/projects/${projectId}/databases/DB/query`, {
    sql: 'SELECT item FROM orders',
    params: [],
  });
  assert.deepEqual(rows, [['coffee']]);
});

test('the cost of AI', async (context) => {
  const { page, see, end } = await startAtOverview();
  await see(page.getByRole('link', { name: /^cost \S+, 1 call$/ }));
  end(context);
});

test('a build, followed', async (context) => {
  write('src/index.ts', worker);
  write('platform.yaml', `name: ${PROJECT}\nai: true\ndb:\n  DB: orders\nbuild: node wait.mjs\n`);
  write('wait.mjs', "setInterval(() => console.log('still building'), 200);\n");
  const before = (await newest()).id;
  const pushed = push('Take long');
  await eventually('The build', async () => (await newest()).id !== before);
  const { page, click, see, end } = await startAtOverview();
  await click(page.getByRole('link', { name: 'Follow the build' }));
  await see(page.getByRole('log', { name: 'Build log' }).getByText('still building').last());
  end(context);
  await dashboard.platform.call('POST', `/deployments/${(await newest()).id}/cancel`);
  await pushed;
});

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

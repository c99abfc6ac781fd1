// What strangers see of the platform itself, in Chromium, in each width and theme: no site at this host, a worker that
// fails, a path that is not there, the password of a preview, and the sign-in.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { openDashboardBrowser } from '#test/setup/dashboard-browser.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';
import { send } from '#test/setup/send.ts';
import { API_PAUSE_MS, eventually } from '#test/setup/whole-platform.ts';

const PROJECT = 'visited-shop';
const worker = `export default {
  fetch(request) {
    if (new URL(request.url).pathname === '/throw') throw new Error('the till is empty');
    return new Response('ok');
  },
};
`;

let dashboard: SharedDashboard;
const on = (host: string, at: string): string => `http://${host}.localhost:${dashboard.platform.ports.handler}${at}`;

before(async () => {
  dashboard = await openSharedDashboard('visitors');
  const { platform, organization } = dashboard;
  const deploy = async (name: string, files: Readonly<Record<string, string>>, ...flags: string[]): Promise<void> => {
    const folder = path.join(platform.folder, name);
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    }
    await platform.cli(folder, 'deploy', ...flags);
  };
  const files = { 'platform.yaml': `kind: worker\nname: ${PROJECT}\n`, 'src/index.ts': worker };
  await deploy(PROJECT, files);
  await deploy(PROJECT, files, '--branch', 'login');
  await deploy('visited-pages', {
    'platform.yaml': 'kind: static\nname: visited-pages\nbuild: "true"\nout: public\n',
    'public/index.html': '<!doctype html><title>Pages</title>',
  });
  const { items } = await platform.call('GET', `/orgs/${organization.id}/projects`);
  const { id } = (items as { id: string; name: string }[]).find(({ name }) => name === PROJECT)!;
  await platform.call('PATCH', `/projects/${id}`, { previewPassword: 'correct horse battery' });
  await eventually(
    'The password',
    async () => (await send(platform.ports.handler, `${PROJECT}--login.localhost`, '/')).status === 401,
    API_PAUSE_MS,
  );
});
afterEach(() => dashboard?.closePages());
after(() => dashboard?.close());

const pages: readonly (readonly [name: string, at: () => string, title: RegExp])[] = [
  ['visitor-no-site', () => on('nothing-here', '/'), /Site not found/],
  ['visitor-500', () => on(PROJECT, '/throw'), /Something went wrong/],
  ['visitor-404', () => on('visited-pages', '/missing'), /not found/i],
  ['visitor-password', () => on(`${PROJECT}--login`, '/'), /preview|password/i],
];
for (const [name, at, title] of pages)
  test(`the page ${name} fits every screen, in both themes, without a fault for axe`, () =>
    dashboard.inspect(name, at(), async (page) => {
      assert.match(await page.locator('h1').innerText(), title);
      // No advice for developers, and nothing of the code.
      assert.doesNotMatch(await page.locator('body').innerText(), /platform (?:deploy|logs|dev)|till is empty|src\//);
    }));

test('the page sign-in fits every screen, in both themes, without a fault for axe', async () => {
  const stranger = await openDashboardBrowser(dashboard.origin);
  try {
    await stranger.inspect('sign-in', '/', async (page) => page.getByLabel('First-run token').waitFor());
    assert.deepEqual(stranger.complaints, []);
  } finally {
    await stranger.close();
  }
});

test('a request id of a failed page is that of its line in the log', async () => {
  const page = await dashboard.visit(on(PROJECT, '/throw'));
  const id = await page.locator('code').innerText();
  const logs = await dashboard.visit(`/projects/${PROJECT}/logs/requests?invocation=${id}`);
  await logs.getByRole('dialog').getByText('the till is empty').first().waitFor();
});

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

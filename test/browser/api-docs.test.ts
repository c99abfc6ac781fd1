// The pages that describe an API, in Chromium: that of the platform's own API, and that of an app. They fit every
// screen, axe finds nothing, operations are found and sent with a token, and the policy refuses nothing.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { platform } from '#packages/worker/index.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { openDashboardBrowser, type DashboardBrowser } from '#test/setup/dashboard-browser.ts';

let control: TestControl;
let server: Awaited<ReturnType<typeof serveApi>>;
let docs: DashboardBrowser;
const api = createApi();
const app = platform()
  .openapi({
    path: '/app/openapi.json',
    ui: '/app',
    info: { title: 'Events', version: '1' },
  })
  .get('/app/ticks', { summary: 'Ticks until you stop' }, () => {
    let timer: NodeJS.Timeout;
    const body = new ReadableStream({
      start: (to) => void (timer = setInterval(() => to.enqueue(new TextEncoder().encode('data: tick\n\n')), 20)),
      cancel: () => clearInterval(timer),
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  })
  .build();

before(async () => {
  control = await startControl();
  server = await serveApi({
    port: 0,
    host: '127.0.0.1',
    fetch: (request) =>
      new URL(request.url).pathname.startsWith('/app') ? app.fetch(request, {}) : api.fetch(request, control.deps),
  });
  docs = await openDashboardBrowser(`http://127.0.0.1:${server.port}`);
});
afterEach(() => docs?.closePages());
after(async () => {
  await docs?.close();
  await server?.close();
  await control?.close();
});

test('the page of the API fits every screen, in both themes, without a serious fault for axe', async () => {
  await docs.inspect('api-docs', '/docs', async (page) => {
    await page.locator('#getOrgs > summary').click();
    await page.locator('#postProjects > summary').click();
    await page.locator('#postProjects textarea').waitFor();
  });
});

test('an operation is found by words and sent with a token', async () => {
  const page = await docs.visit('/docs');
  await page.keyboard.press('/');
  await page.locator('input[type=search]').fill('get orgs list account');
  await page.getByText(/^\d of \d+ operations$/).waitFor();
  await page.locator('#getOrgs > summary').click();
  await page.locator('#getOrgs').getByRole('button', { name: 'Send' }).click();
  await page.locator('#getOrgs').getByText(/^401/).first().waitFor();
  await page.getByLabel('Token').fill(control.owner.token);
  await page.locator('#getOrgs').getByRole('button', { name: 'Send' }).click();
  await page.locator('#getOrgs').getByText(/^200/).first().waitFor();
  await page.locator('#getOrgs').getByText('"acme"').waitFor();
  await page.locator('#getOrgs').getByRole('button', { name: 'CLI' }).click();
  await page.locator('#getOrgs').getByText("platform api GET '/orgs'").waitFor();
});

test('a link leads to its operation, which is open', async () => {
  const page = await docs.visit('/docs#postProjects');
  await page.locator('#postProjects form').waitFor();
});

test('a stream is shown while it comes, until it is stopped', async () => {
  const page = await docs.visit('/app#getAppTicks');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('data: tick').first().waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped').waitFor();
});

test('nothing was asked of another host, and the policy refused nothing', () => {
  assert.deepEqual([...docs.hosts], [`127.0.0.1:${server.port}`]);
  assert.deepEqual(docs.complaints, []);
});

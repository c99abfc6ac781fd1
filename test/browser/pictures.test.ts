// The pictures of README and docs/ can be taken: they show what the dashboard shows, and are small. PICTURES_FOLDER
// keeps them: `node cli/run.mjs :pictures` sets it.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { makePicturedShop, type PicturedShop } from '#test/setup/pictured-shop.ts';
import { openAppPage } from '#test/setup/dashboard-browser.ts';
import { openSharedDashboard, type SharedDashboard } from '#test/setup/shared-dashboard.ts';

const BYTES_MAX = 120_000;
const folder = process.env['PICTURES_FOLDER'] ?? null;

let dashboard: SharedDashboard;
let shop: PicturedShop;
before(async () => {
  dashboard = await openSharedDashboard('harbor', 'ada');
  shop = await makePicturedShop(dashboard);
});
after(() => dashboard?.close());

/** Takes a picture of what is in view. @param pixels of the picture for each of the page */
async function picture(page: Page, name: string, width: number, height: number, pixels: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: pixels, mobile: false });
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 75 });
  const content = Buffer.from(data, 'base64');
  assert.ok(content.length <= BYTES_MAX, `${name} has ${content.length} bytes`);
  if (folder === null) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `${name}.webp`), content);
}

test('the overview of a project with an hour of requests', async () => {
  const page = await dashboard.visit(`/projects/${shop.project}`);
  await page.getByRole('region', { name: 'Last failure' }).getByText('GET /checkout').waitFor();
  await page.getByRole('link', { name: /^cost \S+, 2 calls$/ }).waitFor();
  await picture(page, 'overview', 1280, 860, 2);
});

test('a deployment with its build log', async () => {
  const page = await dashboard.visit(`/deployments/${shop.live}`);
  const log = page.getByRole('log', { name: 'Build log' });
  for (const step of [/^Build/, /^Bundle/, /^Release/]) await log.getByRole('button', { name: step }).last().click();
  await picture(page, 'deployment', 1280, 860, 2);
});

const examples: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  async 'guest-book'(page) {
    await page.getByLabel('E-mail').fill('ada@example.org');
    await page.getByLabel('Password').fill('correct horse');
    await page.getByLabel('Name, if you are new').fill('Ada');
    await page.getByRole('button', { name: 'Sign up' }).click();
    await page.getByLabel('Your entry').fill('What a lovely place.');
  },
  async chat(page) {
    await page.getByLabel('Message').fill('Hello, who are you?');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.assistant').getByText(/\S/).waitFor();
  },
  async spa(page) {
    await page.getByRole('article').first().waitFor();
  },
};
for (const [name, use] of Object.entries(examples))
  test(`the example ${name}`, async (context) => {
    const { page, close } = await openAppPage();
    context.after(close);
    await page.goto(`http://${name}.localhost:${dashboard.platform.ports.handler}/`);
    await use(page);
    await picture(page, name, 720, 450, 1);
  });

test('nothing was refused by the policy, and no page broke', () => {
  assert.deepEqual(dashboard.complaints, []);
});

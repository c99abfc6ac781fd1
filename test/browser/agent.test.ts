// The template `agent` in Chromium, in `platform dev`: out of the box with the mock provider, and with a model of the
// test that begins an answer.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createProject } from '#packages/create/project.ts';
import { startFakeModel } from '#test/setup/fake-model.ts';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { openAppPage, type AppPage } from '#test/setup/dashboard-browser.ts';
import { startDev, type TestDev } from '#test/setup/dev.ts';

const root = join(import.meta.dirname, '../..');
const skip = chromium === null && 'Chromium is not installed';
let folder: string;
let opened: AppPage;

before(async () => {
  // Below the checkout's own node_modules, where the packages' own packages are.
  folder = await mkdtemp(join(root, 'node_modules/.test-'));
  createProject('agent', folder);
  await mkdir(join(folder, 'node_modules/@platform-run'), { recursive: true });
  await symlink(join(root, 'packages/agent'), join(folder, 'node_modules/@platform-run/agent'));
  if (chromium !== null) opened = await openAppPage();
});
after(async () => {
  await opened?.close();
  await rm(folder, { recursive: true, force: true });
});

/** What the page shows: of whom, and what. */
const lines = (): Promise<[string, string][]> =>
  opened.page.evaluate("[...document.querySelectorAll('#messages li')].map((li) => [li.className, li.textContent])");
const has = (selector: string, pattern: RegExp): Promise<void> =>
  opened.page.locator(`#messages ${selector}`, { hasText: pattern }).first().waitFor();

async function say(text: string): Promise<void> {
  const { page } = opened;
  // What was sent is taken out of the field once that is answered.
  await page.waitForFunction("document.querySelector('#text').value === ''");
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** Ends the conversation, and what comes of it. */
async function reset(): Promise<void> {
  await opened.page.getByRole('button', { name: '/reset', exact: true }).click();
  await opened.page.locator('#messages li').first().waitFor({ state: 'detached' });
}

/** Serves it, and opens the page. */
async function open(): Promise<TestDev> {
  const dev = await startDev(folder);
  await opened.page.goto(`http://127.0.0.1:${dev.port}/`);
  return dev;
}

test('with nothing configured a message calls the tool, and a reminder comes by itself', { skip }, async () => {
  const dev = await open();
  try {
    await say('Roll a die, please');
    await has('.assistant', /^The tool says: [1-6]$/);
    const [asked, called, said] = await lines();
    assert.deepEqual(asked, ['user', 'Roll a die, please']);
    assert.match(called!.join(' '), /^tool roll_dice\(\{\}\) → [1-6]$/);
    assert.equal(said![1].at(-1), called![1].at(-1));
    await say('Please: schedule_task {"description":"Drink water","delaySeconds":1}');
    await has('.tool', /^schedule_task.*Drink water.* → .*task_/);
    await has('.reminder', /^.Scheduled task.: Drink water$/);
    await opened.page.waitForFunction("document.querySelector('#reminders').textContent === ''");
    await reset();
    await opened.page.locator('#note', { hasText: 'are deleted' }).waitFor();
    assert.deepEqual(opened.complaints, []);
  } finally {
    await dev.close();
  }
});

test('with another model, by one variable, an answer is shown while it is written', { skip }, async () => {
  const fake = await startFakeModel();
  fake.script('summary', () => ({ begin: 'Once upon a time' }));
  const variables = {
    AGENT_MODEL: 'test/slow',
    PLATFORM_DEV_AI_URL: fake.url,
    PLATFORM_DEV_AI_TOKEN: 'of-the-test',
  };
  const rows = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, '.env'), rows.join(''));
  const dev = await open();
  try {
    await say('Tell me a story');
    await has('.partial', /^Once upon a time$/);
    assert.equal(fake.requests('summary')[0]!.model, 'test/slow');
    assert.deepEqual(await lines(), [
      ['user', 'Tell me a story'],
      ['assistant partial', 'Once upon a time'],
    ]);
    await reset();
  } finally {
    // The model first: the run waits for its answer, and platform dev for the run.
    fake.close();
    await dev.close();
  }
});

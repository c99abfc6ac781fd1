// Packages that people build on durable objects, in Chromium: two pages that edit one document, and a chat with an
// agent.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { openAppPage } from '#test/setup/dashboard-browser.ts';
import { objectPackagesMissing, withObjectWorker } from '#test/setup/object-packages.ts';

const skip = objectPackagesMissing || (chromium === null && 'Chromium is not installed');

test('y-partyserver: two pages type into one document', { skip }, () =>
  withObjectWorker({ worker: 'document', objects: '{ DOCUMENT: Document }', page: 'document' }, async (dev) => {
    const opened = await openAppPage();
    try {
      const one = opened.page;
      const two = await one.context().newPage();
      for (const page of [one, two]) await page.goto(`http://localhost:${dev.port}/`);
      const shows = (page: typeof one, text: string): Promise<unknown> =>
        page.waitForFunction(`document.querySelector('textarea').value === ${JSON.stringify(text)}`);
      await one.getByLabel('Document').pressSequentially('hello');
      await shows(two, 'hello');
      await two.getByLabel('Document').press('End');
      await two.getByLabel('Document').pressSequentially(' world');
      await one.getByLabel('Document').press('Home');
      await one.getByLabel('Document').pressSequentially('> ');
      for (const page of [one, two]) await shows(page, '> hello world');
      // A third one finds it.
      const three = await one.context().newPage();
      await three.goto(`http://localhost:${dev.port}/`);
      await shows(three, '> hello world');
      assert.deepEqual(opened.complaints, []);
    } finally {
      await opened.close();
    }
  }),
);

test('agents: a chat page, with state that it follows, a model and a schedule', { skip }, () =>
  withObjectWorker({ worker: 'chat', objects: '{ CHAT: Chat }', settings: 'ai: true\n', page: 'chat' }, async (dev) => {
    const opened = await openAppPage();
    try {
      const { page } = opened;
      await page.goto(`http://localhost:${dev.port}/`);
      await page.getByLabel('Message').fill('good morning');
      await page.getByLabel('Message').press('Enter');
      await page.getByText('reminder: good morning', { exact: true }).waitFor();
      const lines = ['user: good morning', 'assistant: good morning', 'reminder: good morning'];
      assert.deepEqual(await page.getByRole('listitem').allTextContents(), lines);
      // It keeps them.
      await page.reload();
      await page.getByText('reminder: good morning', { exact: true }).waitFor();
      assert.deepEqual(await page.getByRole('listitem').allTextContents(), lines);
      assert.deepEqual(opened.complaints, []);
    } finally {
      await opened.close();
    }
  }),
);

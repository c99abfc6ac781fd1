// The first ten minutes in Chromium, on a platform that has just been started: from the first-run token over the setup
// to a deployed example. Prints what was typed and clicked, and how long it took.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { openAppPage, openDashboardBrowser, type AppPage } from '#test/setup/dashboard-browser.ts';
import { startSmtp, type TestSmtp } from '#test/setup/smtp-server.ts';
import { eventually, startWholePlatform, type WholePlatform } from '#test/setup/whole-platform.ts';

const options = { skip: chromium === null && 'Chromium is not installed' };
const PASSWORD = 'violet tin umbrella';

let platform: WholePlatform;
let smtp: TestSmtp;
let opened: AppPage;
before(async () => {
  if (chromium === null) return;
  [platform, smtp] = await Promise.all([
    startWholePlatform({ HANDLER_SPARES: '0' }),
    startSmtp({ hideSTARTTLS: true, authOptional: true }),
  ]);
  await eventually('The dashboard', async () => (await fetch(`http://localhost:${platform.ports.ui}`)).ok);
  opened = await openAppPage();
});
after(async () => {
  await opened?.close();
  await platform?.close();
  await smtp?.close();
});

/** As the operator whose password the first test sets. */
async function signInByPassword(page: Page, origin: string): Promise<void> {
  await page.goto(origin);
  await page.getByLabel('Username').fill('ada');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
  await page.waitForURL(`${origin}/`);
}

test('from the first-run token to a deployed example', options, async (context) => {
  const { page, complaints } = opened;
  const origin = `http://localhost:${platform.ports.ui}`;
  const began = performance.now();
  const typed: string[] = [];
  let clicks = 0;
  const type = async (label: string, text: string, shown = text): Promise<void> => {
    typed.push(`${label}: ${shown}`);
    await page.getByLabel(label, { exact: true }).fill(text);
  };
  const click = async (name: string): Promise<void> => {
    clicks++;
    await page.getByRole('button', { name, exact: true }).click();
  };
  const step = (title: string) => page.getByRole('region', { name: title, exact: true });
  const isNow = (title: string, state: string) => step(title).getByText(state, { exact: true }).waitFor();

  await page.goto(origin);
  typed.push('Token: (the first-run token)');
  await page.getByLabel('Token').fill(platform.token);
  await click('Sign in');
  await page.waitForURL(`${origin}/setup`);
  await page.getByRole('heading', { level: 1, name: 'Set up the platform' }).waitFor();
  // Of those who are not signed in, the dashboard gets a 401.
  complaints.splice(0);

  await type('Username', 'ada');
  await type('Password', PASSWORD, '(a password)');
  await click('Set password');
  await isNow('Your account', 'Done');

  for (const title of ['Domain', 'HTTPS', 'Git host', 'Backups']) {
    await click(`Skip: ${title}`);
    await isNow(title, 'Skipped');
  }
  // `platform start` has the mock where nothing else is set.
  await isNow('AI provider', 'Done');

  await type('Mail server', `smtp://127.0.0.1:${smtp.port}?tls=off`);
  await type('Sender', 'platform@example.com');
  await click('Save mail server');
  await step('Mail').getByText('Mail is set up, but no email was sent yet').waitFor();
  await type('Send a test to', 'ada@example.com');
  await click('Send test');
  await isNow('Mail', 'Done');
  assert.deepEqual(
    smtp.accepted.map(({ to }) => to),
    [['ada@example.com']],
  );

  await click('Create invitation link');
  await step('Invitations').getByText(`${origin}/api/auth/invitation?code=`).waitFor();
  await click('Deploy an example');
  const live = step('First deployment').getByRole('link', { name: /^http:\/\/static\.localhost/ });
  await live.waitFor();
  assert.equal((await platform.open('static')).status, 200);
  await click('Finish setup');
  await page.waitForURL(`${origin}/`);
  const seconds = (performance.now() - began) / 1000;
  context.diagnostic(`typed: ${typed.join('; ')}`);
  context.diagnostic(`clicks: ${clicks}; ${seconds.toFixed(1)} s from the sign-in page to the finished setup`);
  assert.deepEqual(complaints, []);

  // The next sign-in leads to the projects, with the password.
  await page.context().clearCookies();
  await signInByPassword(page, origin);
  await page
    .getByRole('table', { name: 'Projects' })
    .getByRole('link', { name: /static/ })
    .first()
    .waitFor();
});

test('setup and mail fit every screen, in both themes, without a serious fault for axe', options, async () => {
  const origin = `http://localhost:${platform.ports.ui}`;
  const dashboard = await openDashboardBrowser(origin, (page) => signInByPassword(page, origin));
  try {
    await dashboard.inspect('setup', '/setup');
    await dashboard.inspect('mail', '/operator/mail');
  } finally {
    await dashboard.close();
  }
});

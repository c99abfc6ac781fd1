// Passkeys in Chromium with a virtual authenticator: added, used to sign in, offered where the browser can. The policy
// refuses nothing of their script.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { openAppPage, type AppPage } from '#test/setup/dashboard-browser.ts';
import { startSignIn, type TestSignIn } from '#test/setup/signed-in.ts';

const options = { skip: chromium === null && 'Chromium is not installed' };
const PASSWORD = 'violet tin umbrella';

let site: TestSignIn;
let opened: AppPage;
before(async () => void (site = await startSignIn()));
after(() => site.close());
beforeEach(async () => {
  if (chromium === null) return;
  await site.deps.sql`DELETE FROM control.rate`;
  opened = await openAppPage();
});
afterEach(() => opened?.close());

/** A device that knows who touches it, once somebody does. */
async function addAuthenticator(page: Page) {
  const devtools: CDPSession = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: false,
    },
  });
  return {
    /** Somebody touches whatever asks for it from now on. */
    touch: (enabled = true) => devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    /** Whether it is the finger of its owner. */
    recognize: (isUserVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

async function linkOf(): Promise<string> {
  const at = `/orgs/${site.control.organizationId}/invitations`;
  return (await site.control.call('POST', at, { role: 'member' })).body.url;
}

async function joinAs(page: Page, username: string): Promise<void> {
  await page.goto(await linkOf());
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account', exact: true }).click();
  await page.getByText('the dashboard').waitFor();
}

test('a person adds a passkey, and signs in with it', options, async () => {
  const { page, complaints } = opened;
  const device = await addAuthenticator(page);
  await device.touch();
  await joinAs(page, 'grace');
  await page.goto(`${site.ui}/api/auth/passkeys`);
  await page.getByLabel('Name of the passkey').fill('Laptop');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('never used').waitFor();
  assert.equal(await page.getByText('This browser cannot create passkeys').isVisible(), false);
  // The device has one of this account now.
  await page.getByLabel('Name of the passkey').fill('Again');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByText('has a passkey of this account already').waitFor();

  await page.context().clearCookies();
  await device.touch(false);
  await page.goto(`${site.ui}/api/auth/sign-in?redirect=/projects`);
  await device.recognize(false);
  await device.touch();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('The passkey was not confirmed').waitFor();
  await device.recognize(true);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('the dashboard').waitFor();
  assert.equal(page.url(), `${site.ui}/projects`);
  const user = await page.evaluate(async () => (await fetch('/api/user')).json() as Promise<{ login: string }>);
  assert.equal(user.login, 'grace');
  assert.deepEqual(complaints, []);
});

test('a person joins by a link with a passkey', options, async () => {
  const { page, complaints } = opened;
  await (await addAuthenticator(page)).touch();
  await page.goto(await linkOf());
  await page.getByRole('link', { name: 'Use a passkey' }).click();
  await page.getByLabel('Username').fill('Grace');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('This username is taken').waitFor();
  await page.getByLabel('Username').fill('linus');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('the dashboard').waitFor();
  const user = await page.evaluate(async () => (await fetch('/api/user')).json() as Promise<{ login: string }>);
  assert.equal(user.login, 'linus');
  // Chromium writes down that a request was refused.
  assert.deepEqual(
    complaints.filter((text) => !text.includes('422')),
    [],
  );
});

test('a browser without passkeys shows no button for them', options, async () => {
  const { page, complaints } = opened;
  await page.addInitScript('delete globalThis.PublicKeyCredential');
  await joinAs(page, 'ida');
  await page.goto(`${site.ui}/api/auth/passkeys`);
  await page.getByText('This browser cannot create passkeys').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).isVisible(), false);
  await page.context().clearCookies();
  await page.goto(`${site.ui}/api/auth/sign-in`);
  await page.getByLabel('Username').waitFor();
  assert.equal(await page.locator('form[data-passkey=get]').count(), 1);
  assert.equal(await page.getByRole('button', { name: 'Sign in with a passkey' }).isVisible(), false);
  assert.deepEqual(complaints, []);
});

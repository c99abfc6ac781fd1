// Sign-in in Chromium: an invitation link, a password and a second factor; the Git host and OpenID Connect by a link.
// The pages have no scripts, and the policy refuses none of their forms.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { chromium } from '#cli/tasks/tools/chromium.ts';
import { codeOf } from '#control/access/totp.ts';
import { createOidcProvider } from '#control/access/oidc/client.ts';
import { assertAccessible, assertFits, openAppPage, type AppPage } from '#test/setup/dashboard-browser.ts';
import { startOidcProvider, type TestOidcProvider } from '#test/setup/oidc-provider.ts';
import { startSignIn, type TestSignIn } from '#test/setup/signed-in.ts';

const options = { skip: chromium === null && 'Chromium is not installed' };
const PASSWORD = 'violet tin umbrella';

let site: TestSignIn;
let provider: TestOidcProvider;
let opened: AppPage;
before(async () => {
  site = await startSignIn('invited', {
    async oidc(ui) {
      provider = await startOidcProvider(`${ui}/api/auth/callback/oidc`);
      return createOidcProvider(provider.settings, 'a secret of the platform');
    },
  });
});
after(async () => {
  await site.close();
  await provider.close();
});
beforeEach(async () => {
  if (chromium === null) return;
  await site.deps.sql`DELETE FROM control.rate`;
  opened = await openAppPage();
});
afterEach(() => opened?.close());

async function linkOf(): Promise<string> {
  const at = `/orgs/${site.control.organizationId}/invitations`;
  return (await site.control.call('POST', at, { role: 'member' })).body.url;
}

function fromBase32(text: string): Buffer {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...text].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
}

test('a person joins by a link, turns on two factors, and signs in with both', options, async () => {
  const { page, complaints } = opened;
  await page.goto(await linkOf());
  await page.getByLabel('Username').fill('grace');
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('the dashboard').waitFor();

  await page.goto(`${site.ui}/api/auth/two-factor`);
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Continue' }).click();
  const secret = fromBase32((await page.locator('code').innerText()).replaceAll(/\s/g, ''));
  const code = () => codeOf(secret, Math.floor(Date.now() / 30_000));
  await page.getByLabel('The code that the app shows').fill(code());
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('Keep your recovery codes').waitFor();
  assert.equal(await page.locator('code').count(), 10);

  // As if a minute had passed since this code.
  await site.deps.sql`UPDATE control.second_factor SET last_step = last_step - 2`;
  await page.context().clearCookies();
  await page.goto(`${site.ui}/api/auth/sign-in?redirect=/projects`);
  await page.getByLabel('Username').fill('Grace');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
  await page.getByLabel('Code of your authenticator app').fill(code());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('the dashboard').waitFor();
  assert.equal(page.url(), `${site.ui}/projects`);
  assert.deepEqual(complaints, []);
});

test('a person joins by a link with the Git host', options, async () => {
  const { page, complaints } = opened;
  site.host.user('linus');
  site.host.state.signedIn = 'linus';
  await page.goto(await linkOf());
  await page.getByRole('button', { name: /Continue with 127\.0\.0\.1/ }).click();
  await page.getByText('the dashboard').waitFor();
  const user = await page.evaluate(async () => (await fetch('/api/user')).json() as Promise<{ login: string }>);
  assert.equal(user.login, 'linus');
  assert.deepEqual(complaints, []);
});

test('a person joins by a link with OpenID Connect, and signs in with it again', options, async () => {
  const { page, complaints } = opened;
  provider.people.set('7', { preferred_username: 'annie', name: 'Annie Easley' });
  provider.signedIn = '7';
  await page.goto(await linkOf());
  await page.getByRole('button', { name: 'Continue with Acme SSO' }).click();
  await page.getByText('the dashboard').waitFor();
  await page.context().clearCookies();
  await page.goto(`${site.ui}/api/auth/sign-in?redirect=/projects`);
  await page.getByRole('link', { name: 'Sign in with Acme SSO' }).click();
  await page.getByText('the dashboard').waitFor();
  assert.equal(page.url(), `${site.ui}/projects`);
  const user = await page.evaluate(async () => (await fetch('/api/user')).json() as Promise<{ login: string }>);
  assert.equal(user.login, 'annie');
  await page.goto(`${site.ui}/api/auth/link/oidc`);
  await page.getByText('You sign in as annie with annie at Acme SSO').waitFor();
  assert.deepEqual(complaints, []);
});

/** Paths under `/api/auth/` in the sources. */
function pagePaths(): readonly string[] {
  const folder = path.join(import.meta.dirname, '../../control');
  const texts = globSync('{sign-in,git-host}/*.ts', { cwd: folder }).map((file) =>
    readFileSync(path.join(folder, file), 'utf8'),
  );
  const found = texts.flatMap((text) => [...text.matchAll(/'(\/api\/auth\/[\w/-]+)'/g)].map(([, at]) => at!));
  return [...new Set(found)];
}

test('every page of sign-in fits a phone, and axe finds no fault in either theme', options, async () => {
  const { page } = opened;
  await page.setViewportSize({ width: 390, height: 844 });
  const paths = ['/api/auth/sign-in', '/api/auth/sign-in?error=password', ...pagePaths()];
  const shown = new Set<string>();
  const look = async (at: string): Promise<void> => {
    const answer = await page.goto(at);
    const here = new URL(page.url());
    if (here.origin !== site.ui || !here.pathname.startsWith('/api/auth/')) return;
    // A path that takes forms only has no page.
    if (answer?.headers()['content-type']?.startsWith('text/html') !== true || answer.status() === 404) return;
    shown.add(await page.locator('h1').innerText());
    await page.emulateMedia({ colorScheme: 'light' });
    await assertFits(page, at);
    await assertAccessible(page, at);
    await page.emulateMedia({ colorScheme: 'dark' });
    await assertAccessible(page, `${at}, dark`, 'colors');
  };
  for (const at of paths) await look(`${site.ui}${at}`);
  // The Git host and the provider have signed somebody in on the way.
  await page.context().clearCookies();
  await look(await linkOf());
  await page.getByLabel('Username').fill('ida');
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('the dashboard').waitFor();
  for (const at of paths) await look(`${site.ui}${at}`);
  for (const title of ['Sign in', 'Authorize a command line', 'That did not work'])
    assert.ok(shown.has(title), `${title} is not among ${[...shown].join(', ')}`);
});

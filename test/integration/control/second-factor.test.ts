// Two-factor authentication: turned on with a code, asked for after the password, and what does not get past it.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { codeOf } from '#control/access/totp.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { withinWindow } from '#test/setup/window.ts';

const PASSWORD = 'violet tin umbrella';
const CODE_PATH = '/api/auth/sign-in/code';

let site: TestSignIn;
before(async () => {
  site = await startSignIn();
  await site.deps.sql`UPDATE control.account SET is_admin = true WHERE id = ${site.control.owner.accountId}`;
});
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

/** A person with an account, a password and an authenticator app. */
interface Person {
  readonly username: string;
  readonly browser: TestBrowser;
  readonly accountId: string;
  readonly secret: Buffer;
  readonly recoveryCodes: readonly string[];
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  return Buffer.from(
    bits
      .join('')
      .match(/.{8}/g)!
      .map((byte) => Number.parseInt(byte, 2)),
  );
}

async function makePerson(username: string): Promise<Person> {
  const accountId = (await site.control.account(username)).accountId;
  const hash = await site.deps.signIn.passwords.hash(PASSWORD);
  await site.deps.sql`
    INSERT INTO control.password (account_id, username, hash) VALUES (${accountId}, ${username}, ${hash})`;
  const browser = site.browser();
  await signIn(username, browser);
  const { text } = await browser.submit('/api/auth/two-factor/begin', { current: PASSWORD });
  const secret = fromBase32(/<code>([A-Z2-7 ]+)<\/code>/.exec(text)![1]!.replaceAll(' ', ''));
  assert.equal((await browser.submit('/api/auth/two-factor/confirm', { code: '000' })).status, 422);
  const done = await browser.submit('/api/auth/two-factor/confirm', { code: codeNow(secret) });
  const recoveryCodes = [...done.text.matchAll(/<code>([a-z2-7-]{19})<\/code>/g)].map(([, code]) => code!);
  assert.equal(recoveryCodes.length, 10);
  return { username, browser, accountId, secret, recoveryCodes };
}

const signIn = (username: string, browser = site.browser(), password = PASSWORD) =>
  browser.submit('/api/auth/sign-in/password', { username, password, redirect: '/projects' });

const codeNow = (secret: Buffer): string => codeOf(secret, Math.floor(Date.now() / 30_000));

/** As if so much time had passed since the last code. */
const later = ({ accountId }: Person) =>
  site.deps.sql`UPDATE control.second_factor SET last_step = last_step - 2 WHERE account_id = ${accountId}`;

async function isSignedIn(browser: TestBrowser): Promise<boolean> {
  const { account } = (await (await browser.request('/api/auth/session')).json()) as { account: object | null };
  return account !== null;
}

test('the password alone opens no session; a code does, and leads on', async () => {
  const person = await makePerson('grace');
  await later(person);
  const browser = site.browser();
  const page = await signIn('grace', browser);
  assert.equal(page.url, `${site.ui}${CODE_PATH}`);
  assert.equal(await isSignedIn(browser), false);
  assert.equal((await browser.submit(CODE_PATH, { code: '12345' })).status, 401);
  assert.equal(await isSignedIn(browser), false);
  const done = await browser.submit(CODE_PATH, { code: codeNow(person.secret) });
  assert.equal(done.url, `${site.ui}/projects`);
  assert.equal(await isSignedIn(browser), true);
  const seen = (await (await browser.request('/api/user/sign-in')).json()) as { hasSecondFactor: boolean };
  assert.equal(seen.hasSecondFactor, true);
});

test('a code is used once, also by two at once, and none before it', async () => {
  const person = await makePerson('ida');
  const code = codeNow(person.secret);
  const replayed = site.browser();
  await signIn('ida', replayed);
  // It turned two-factor authentication on.
  assert.equal((await replayed.submit(CODE_PATH, { code })).status, 401);
  const older = codeOf(person.secret, Math.floor(Date.now() / 30_000) - 1);
  assert.equal((await replayed.submit(CODE_PATH, { code: older })).status, 401);
  await later(person);
  const both = [site.browser(), site.browser()];
  for (const browser of both) await signIn('ida', browser);
  const fresh = codeNow(person.secret);
  await Promise.all(both.map((browser) => browser.submit(CODE_PATH, { code: fresh })));
  const done = await Promise.all(both.map(isSignedIn));
  assert.deepEqual(done.toSorted(), [false, true]);
});

test('a recovery code works once, however it is typed', async () => {
  const { recoveryCodes } = await makePerson('mary');
  const [code] = recoveryCodes;
  const browser = site.browser();
  await signIn('mary', browser);
  await browser.submit(CODE_PATH, { code: ` ${code!.toUpperCase().replaceAll('-', ' ')}` });
  assert.equal(await isSignedIn(browser), true);
  const again = site.browser();
  await signIn('mary', again);
  assert.equal((await again.submit(CODE_PATH, { code: code! })).status, 401);
  assert.match((await browser.visit('/api/auth/two-factor')).text, /You have 9 recovery codes left/);
});

test('a code is worth nothing without the first step, in another browser, or too late', async () => {
  const person = await makePerson('joan');
  await later(person);
  const code = codeNow(person.secret);
  const stranger = await site.browser().submit(CODE_PATH, { code });
  assert.equal(stranger.url, `${site.ui}/api/auth/sign-in?error=expired`);
  const browser = site.browser();
  await signIn('joan', browser);
  await site.deps.sql`UPDATE control.single_use SET expires_at = now() - interval '1 second'`;
  assert.equal((await browser.submit(CODE_PATH, { code })).url, `${site.ui}/api/auth/sign-in?error=expired`);
  assert.equal(await isSignedIn(browser), false);
});

test('codes of an account are tried ten times in fifteen minutes', async () => {
  await makePerson('target');
  const browser = site.browser();
  const statuses = await withinWindow(900, async () => {
    await site.deps.sql`DELETE FROM control.rate`;
    await signIn('target', browser);
    const found: number[] = [];
    for (let attempt = 0; attempt < 11; attempt++) found.push((await browser.submit(CODE_PATH, { code: 'x' })).status);
    return found;
  });
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
});

test('turning it off and new recovery codes need the current password', async () => {
  const { browser, recoveryCodes } = await makePerson('nora');
  for (const change of ['codes', 'off', 'begin'])
    assert.equal((await browser.submit(`/api/auth/two-factor/${change}`, { current: 'wrong' })).status, 422, change);
  const renewed = await browser.submit('/api/auth/two-factor/codes', { current: PASSWORD });
  assert.ok(!renewed.text.includes(recoveryCodes[0]!));
  await browser.submit('/api/auth/two-factor/off', { current: PASSWORD });
  assert.equal((await signIn('nora')).url, `${site.ui}/projects`);
});

test('a recovery link keeps the second factor, unless the operator removes it', async () => {
  const { accountId, username } = await makePerson('zoe');
  const recover = async (body: object, password: string): Promise<void> => {
    const made = await site.control.call('POST', `/operator/accounts/${accountId}/recovery-link`, body);
    const code = new URL(made.body.url).searchParams.get('code')!;
    await site.browser().submit('/api/auth/recovery/set', { code, username, password });
  };
  await recover({}, 'seven quiet lanterns');
  assert.equal((await signIn('zoe', undefined, 'seven quiet lanterns')).url, `${site.ui}${CODE_PATH}`);
  await recover({ removeSecondFactor: true }, 'eight loud lanterns');
  assert.equal((await signIn('zoe', undefined, 'eight loud lanterns')).url, `${site.ui}/projects`);
});

test('secrets are kept encrypted, recovery codes as hashes', async () => {
  const { secret, recoveryCodes } = await makePerson('kept');
  const rows = await site.deps.sql`
    SELECT f::text FROM control.second_factor f UNION ALL SELECT r::text FROM control.recovery_code r
    UNION ALL SELECT e::text FROM control.audit_event e`;
  const kept = JSON.stringify(rows);
  for (const plain of [secret.toString('hex'), secret.toString('base64'), recoveryCodes[0]!])
    assert.ok(!kept.includes(plain));
});

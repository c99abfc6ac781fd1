// What is tried against passkeys: answers of other origins, challenges, keys and accounts, and forms of any bytes.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  addPasskey,
  loginIn,
  makePerson,
  optionsOf,
  PASSKEY_PAGE,
  PASSKEY_SIGN_IN,
  signInWith,
} from '#test/setup/passkeys.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { createAuthenticator, type Authenticator } from '#test/setup/software-authenticator.ts';
import { withinWindow } from '#test/setup/window.ts';

const REFUSED = /This passkey cannot be used here/;
const EXPIRED = /The sign-in took too long, or was started in another browser/;

let site: TestSignIn;
let person: { readonly browser: TestBrowser; readonly accountId: string };
let authenticator: Authenticator;
before(async () => {
  site = await startSignIn();
  person = await makePerson(site, 'grace');
  authenticator = createAuthenticator(site.ui);
  await addPasskey(site, person.browser, authenticator);
});
after(() => site.close());
// Windows of attempts would run into each other.
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

/** Sends what an attacker has made of the options. */
async function attempt(
  forge: (options: Awaited<ReturnType<typeof optionsOf>>) => Record<string, string>,
  browser = site.browser(),
): Promise<{ status: number; text: string }> {
  const options = await optionsOf(site, browser, PASSKEY_SIGN_IN);
  const { status, text } = await browser.submit(PASSKEY_SIGN_IN, forge(options));
  assert.equal(await loginIn(browser), null);
  return { status, text };
}

/** Another bit in the last byte but one. */
function tampered(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  bytes[bytes.length - 2]! ^= 1;
  return bytes.toString('base64url');
}

test('an answer made for another origin, name, step or frame signs nobody in', async () => {
  const lies = [
    { origin: 'https://evil.example' },
    // A project of the platform may ask for passkeys of a name that both are under.
    { origin: site.ui.replace('localhost', 'app.localhost') },
    { origin: site.ui.replace(/:\d+$/, ':1') },
    { rpId: 'evil.example' },
    { type: 'webauthn.create' },
    { crossOrigin: true },
    { crossOrigin: 'true' },
    { isVerified: false },
  ];
  for (const lie of lies) {
    const { status, text } = await attempt((options) => authenticator.get(options, lie));
    assert.equal(status, 401, JSON.stringify(lie));
    assert.match(text, REFUSED);
  }
});

test('a changed signature, key or account signs nobody in', async () => {
  const other = createAuthenticator(site.ui);
  const { browser } = await makePerson(site, 'mallory');
  await addPasskey(site, browser, other);
  const graceId = authenticator.credentialId();
  const forgeries: ((options: Awaited<ReturnType<typeof optionsOf>>) => Record<string, string>)[] = [
    (options) => {
      const fields = authenticator.get(options);
      return { ...fields, signature: tampered(fields['signature']!) };
    },
    (options) => {
      const fields = authenticator.get(options);
      return { ...fields, authenticatorData: tampered(fields['authenticatorData']!) };
    },
    // The credential of one account, signed with the key of another one.
    (options) => other.get(options, { credentialId: graceId }),
    (options) => ({
      ...other.get(options, { credentialId: graceId }),
      userHandle: authenticator.get(options)['userHandle']!,
    }),
    // A passkey of its own, said to be of another account.
    (options) => other.get(options, { userHandle: authenticator.get(options)['userHandle']! }),
    (options) => other.get(options, { credentialId: Buffer.alloc(32) }),
  ];
  for (const forge of forgeries) {
    const { status, text } = await attempt(forge);
    assert.equal(status, 401);
    assert.match(text, REFUSED);
  }
});

test('a challenge is good once, in its browser, for five minutes, for what it was made for', async () => {
  const browser = site.browser();
  const fields = authenticator.get(await optionsOf(site, browser, PASSKEY_SIGN_IN));
  assert.equal((await browser.submit(PASSKEY_SIGN_IN, { redirect: '/projects', ...fields })).status, 200);
  assert.equal(await loginIn(browser), 'grace');
  await browser.submit('/api/auth/sign-out', {});
  assert.match((await browser.submit(PASSKEY_SIGN_IN, fields)).text, EXPIRED);

  const victim = site.browser();
  const stolen = authenticator.get(await optionsOf(site, victim, PASSKEY_SIGN_IN));
  const thief = site.browser();
  await optionsOf(site, thief, PASSKEY_SIGN_IN);
  assert.match((await thief.submit(PASSKEY_SIGN_IN, stolen)).text, EXPIRED);
  // It is used up now.
  assert.match((await victim.submit(PASSKEY_SIGN_IN, stolen)).text, EXPIRED);

  const late = authenticator.get(await optionsOf(site, victim, PASSKEY_SIGN_IN));
  await site.deps.sql`UPDATE control.single_use SET expires_at = now() - interval '1 second'`;
  assert.match((await victim.submit(PASSKEY_SIGN_IN, late)).text, EXPIRED);

  const { challenge } = await optionsOf(site, person.browser, `${PASSKEY_PAGE}/add`);
  const kept = site.browser();
  kept.cookies.set('platform-passkey', person.browser.cookies.get('platform-passkey')!);
  assert.match((await kept.submit(PASSKEY_SIGN_IN, authenticator.get({ challenge, rpId: 'localhost' }))).text, EXPIRED);
  for (const challenge of ['', 'x', 'a'.repeat(43)])
    assert.match(
      (await kept.submit(PASSKEY_SIGN_IN, authenticator.get({ challenge, rpId: 'localhost' }))).text,
      EXPIRED,
    );
  for (const one of [victim, thief, kept]) assert.equal(await loginIn(one), null);
});

test('a counter that goes back or stays is refused, and one that never counts is not', async () => {
  const { browser } = await makePerson(site, 'counted');
  const counting = createAuthenticator(site.ui);
  await addPasskey(site, browser, counting);
  assert.equal((await signInWith(site, counting)).url, `${site.ui}/projects`);
  assert.equal((await signInWith(site, counting)).url, `${site.ui}/projects`);
  counting.count();
  counting.count();
  assert.equal((await signInWith(site, counting)).url, `${site.ui}/projects`);
  for (const counter of [2, 1, 0])
    assert.match((await attempt((options) => counting.get(options, { counter }))).text, REFUSED);
  counting.count();
  assert.equal((await signInWith(site, counting)).url, `${site.ui}/projects`);
  // Of two copies with one counter, one signs in.
  counting.count();
  const answers = await Promise.all([signInWith(site, counting), signInWith(site, counting)]);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401]);
});

test('a passkey for another origin, name or account, without verification or a second time is not added', async () => {
  const { browser } = await makePerson(site, 'eve');
  const count = async () => (await site.deps.sql`SELECT 1 FROM control.passkey`).length;
  const before = await count();
  const lies = [
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { type: 'webauthn.get' },
    { crossOrigin: true },
    { isVerified: false },
  ];
  for (const lie of lies) {
    const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
    const fields = { name: 'Key', ...createAuthenticator(site.ui).create(options, lie) };
    const { status, text } = await browser.submit(`${PASSKEY_PAGE}/add`, fields);
    assert.equal(status, 422, JSON.stringify(lie));
    assert.match(text, /This passkey was refused/);
  }
  for (const credentialId of [Buffer.alloc(0), Buffer.alloc(32)]) {
    const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
    const fields = { ...createAuthenticator(site.ui).create(options, { credentialId }), id: 'AQAB' };
    assert.match((await browser.submit(`${PASSKEY_PAGE}/add`, { name: 'Key', ...fields })).text, /was refused/);
  }
  const taken = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  const credentialId = authenticator.credentialId();
  const again = { name: 'Key', ...createAuthenticator(site.ui).create(taken, { credentialId }) };
  assert.match((await browser.submit(`${PASSKEY_PAGE}/add`, again)).text, /This passkey is registered already/);
  // Options of one account, sent by another one in the same browser.
  const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  const victim = site.browser();
  for (const [name, value] of person.browser.cookies) victim.cookies.set(name, value);
  victim.cookies.set('platform-passkey', browser.cookies.get('platform-passkey')!);
  const planted = { name: 'Key', ...createAuthenticator(site.ui).create(options) };
  assert.match((await victim.submit(`${PASSKEY_PAGE}/add`, planted)).text, /started in another browser or account/);
  assert.equal(await count(), before);
  assert.equal((await signInWith(site, authenticator)).url, `${site.ui}/projects`);
});

test('certificates of authenticators are not read', async () => {
  const { browser } = await makePerson(site, 'certified');
  const keys = createAuthenticator(site.ui);
  const options = await optionsOf(site, browser, `${PASSKEY_PAGE}/add`);
  // Who read it would fail, or fetch the revocation list that it names.
  const statement = new Map([['x5c', [Buffer.from('not a certificate'), Buffer.from('nor this')]]]);
  const form = { name: 'Key', ...keys.create(options, { statement: ['packed', statement] }) };
  assert.equal((await browser.submit(`${PASSKEY_PAGE}/add`, form)).url, `${site.ui}${PASSKEY_PAGE}`);
  assert.equal((await signInWith(site, keys)).url, `${site.ui}/projects`);
});

test('passkeys of others are neither renamed nor removed, and pages of other sites change nothing', async () => {
  const { browser } = await makePerson(site, 'trudy');
  await addPasskey(site, browser, createAuthenticator(site.ui));
  const [row] = await site.deps.sql<{ id: string }[]>`
    SELECT id FROM control.passkey WHERE account_id = ${person.accountId}`;
  await browser.submit(`${PASSKEY_PAGE}/rename`, { passkey: row!.id, name: 'Mine' });
  await browser.submit(`${PASSKEY_PAGE}/remove`, { passkey: row!.id });
  const headers = { origin: 'https://evil.example' };
  for (const at of [
    `${PASSKEY_SIGN_IN}/options`,
    PASSKEY_SIGN_IN,
    `${PASSKEY_PAGE}/add/options`,
    `${PASSKEY_PAGE}/remove`,
  ])
    assert.equal((await person.browser.request(at, { method: 'POST', headers, body: '' })).status, 403, at);
  const names = await site.deps.sql<{ name: string }[]>`
    SELECT name FROM control.passkey WHERE account_id = ${person.accountId}`;
  assert.deepEqual(
    [...names].map(({ name }) => name),
    ['Laptop'],
  );
});

test('the options of a sign-in are the same for everybody', async () => {
  for (const form of [{}, { username: 'grace' }, { username: 'nobody-here' }]) {
    const options = await optionsOf(site, site.browser(), PASSKEY_SIGN_IN, form);
    assert.match(options.challenge, /^[\w-]{43}$/);
    assert.deepEqual(
      { ...options, challenge: '' },
      { challenge: '', rpId: 'localhost', userVerification: 'required', timeout: 300_000 },
    );
  }
});

test('challenges and answers are sixty in five minutes from an address', async () => {
  const statuses = await withinWindow(300, async () => {
    await site.deps.sql`DELETE FROM control.rate`;
    const found: number[] = [];
    for (let attempt = 0; attempt < 61; attempt++) {
      const init = { method: 'POST', headers: { origin: site.ui } };
      found.push((await site.browser().request(`${PASSKEY_SIGN_IN}/options`, init)).status);
    }
    return found;
  });
  assert.deepEqual(statuses, [...Array<number>(60).fill(200), 429]);
});

test('whatever bytes come as a passkey, they sign nobody in, and nothing breaks', async (t) => {
  const random = createSeededRandom();
  const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.below(256)));
  /** A field in another form: cut, lengthened, other bytes, or none of base64url. */
  const changed = (text: string): string => {
    const bytes = Buffer.from(text, 'base64url');
    const at = random.below(bytes.length);
    const values = [
      () => bytes.subarray(0, at).toString('base64url'),
      () => Buffer.concat([bytes, bytesOf(1 + random.below(40))]).toString('base64url'),
      () =>
        Buffer.concat([bytes.subarray(0, at), bytesOf(1 + random.below(8)), bytes.subarray(at)]).toString('base64url'),
      () => {
        const other = Buffer.from(bytes);
        other[at]! ^= 1 + random.below(255);
        return other.toString('base64url');
      },
      () => bytesOf(random.below(300)).toString('base64url'),
      () =>
        Buffer.from(random.text(['{', '}', '[', '"challenge"', ':', 'null', '\u0000', '💥', '"'], 30)).toString(
          'base64url',
        ),
      // Deeply nested, or a length that is not there.
      () => Buffer.concat([Buffer.alloc(random.below(3000), 0x81), bytesOf(4)]).toString('base64url'),
      () =>
        Buffer.from(
          random.pick(['5affffffff', '9bffffffffffffffff', 'bf', 'a1', 'fb7ff8000000000000']),
          'hex',
        ).toString('base64url'),
      () => random.pick(['', '=', ' ', '%00', '../', '0'.repeat(20_000), 'A'.repeat(40_000)]),
    ];
    return random.pick(values)();
  };
  const statuses = new Map<number, number>();
  for (let round = 0; round < fuzzRounds(150); round++) {
    await site.deps.sql`DELETE FROM control.rate`;
    const isNew = round % 2 === 0;
    const browser = isNew ? person.browser : site.browser();
    const action = isNew ? `${PASSKEY_PAGE}/add` : PASSKEY_SIGN_IN;
    const options = await optionsOf(site, browser, action);
    const fields = isNew ? createAuthenticator(site.ui, 'EdDSA').create(options) : authenticator.get(options);
    const name = random.pick(Object.keys(fields));
    const form = { ...fields, [name]: changed(fields[name]!) };
    const { status } = await browser.submit(action, { name: 'Fuzz', ...form });
    const place = `round ${round}, seed ${random.seed}: ${JSON.stringify(form).slice(0, 400)}`;
    // Nothing signs a new passkey, and a signature may be written in several ways: what is signed is not.
    const mayPass = isNew || name === 'signature';
    assert.ok([400, 401, 413, 422, ...(mayPass ? [200] : [])].includes(status), `${status} in ${place}`);
    if (!mayPass) assert.equal(await loginIn(browser), null, place);
    if (isNew) await site.deps.sql`DELETE FROM control.passkey WHERE name = 'Fuzz'`;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.equal(await loginIn(person.browser), 'grace');
  assert.equal((await signInWith(site, authenticator)).status, 200);
  t.diagnostic(`seed ${random.seed}: ${JSON.stringify([...statuses])}`);
});

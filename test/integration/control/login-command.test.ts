// `platform login`, `logout` and `whoami` against a control plane on real sockets: in the browser, by a typed code, and
// with a token; and what the grants behind them refuse.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { after, before, beforeEach, test, type TestContext } from 'node:test';
import { credentialsFile, readLogins } from '#cli/account/credentials.ts';
import { loginInBrowser, loginWithCode } from '#cli/account/login.ts';
import { run } from '#cli/main.ts';
import { hashOf } from '#control/access/secrets.ts';
import { startSignIn, type TestBrowser, type TestSignIn } from '#test/setup/signed-in.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';
import { withinWindow } from '#test/setup/window.ts';

let site: TestSignIn;
before(async () => void (site = await startSignIn()));
after(() => site.close());
beforeEach(() => site.deps.sql`DELETE FROM control.rate`);

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

function newHome(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-home-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function ownersBrowser(): Promise<TestBrowser> {
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token });
  return browser;
}

/** Fields of the form on a page, as a browser would send them. */
function fieldsOf(page: string): Record<string, string> {
  const decoded = (value: string): string => value.replaceAll('&amp;', '&').replaceAll('&#39;', "'");
  const inputs = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name, value]) => [name!, decoded(value!)]));
}

/** Decides on the page that a command line has opened. */
async function decide(browser: TestBrowser, url: string, decision: string): Promise<void> {
  const page = await browser.visit(url);
  assert.equal(page.status, 200, page.text);
  assert.match(page.text, /to act\s+as <strong>ada<\/strong>/);
  const back = await browser.submit('/api/auth/authorize', { ...fieldsOf(page.text), decision }, (to) =>
    to.startsWith('http://127.0.0.1:'),
  );
  assert.match(back.url, /^http:\/\/127\.0\.0\.1:/);
  await fetch(back.url);
}

test('platform login opens the browser, keeps a token that expires, and logout forgets it', async (t) => {
  const home = newHome(t);
  const opened = path.join(home, 'opened');
  const program = path.join(home, 'browser');
  writeFileSync(program, `#!/bin/sh\nprintf %s "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`);
  chmodSync(program, 0o700);
  const shell = recordingShell('/', { PLATFORM_HOME: home, BROWSER: program });
  const done = run(['login', '--api', site.api], shell);
  await until(() => existsSync(opened));
  await decide(await ownersBrowser(), readFileSync(opened, 'utf8'), 'allow');
  assert.equal(await done, 0, shell.errors.join('\n'));
  assert.equal(shell.output[0], `Logged in to ${site.api} as ada`);
  assert.equal(statSync(credentialsFile(shell)).mode & 0o777, 0o600);
  const { current, platforms } = readLogins(shell);
  const { token, expiresAt } = platforms[current!]!;
  const days = (Date.parse(expiresAt!) - Date.now()) / 86_400_000;
  assert.ok(days > 89 && days <= 90, expiresAt!);
  const [row] = await site.deps.sql<{ name: string; scope: string; expires_at: Date }[]>`
    SELECT * FROM control.token WHERE hash = ${hashOf(token)}`;
  assert.match(row!.name, /^Command line on /);
  assert.equal(row!.scope, 'admin');
  assert.ok(row!.expires_at.getTime() > Date.now());

  assert.equal(await run(['whoami', '--json'], shell), 0);
  const who = JSON.parse(shell.output.at(-1)!) as Record<string, unknown>;
  assert.deepEqual([who['login'], who['source'], who['api']], ['ada', 'login', site.api]);

  assert.equal(await run(['logout'], shell), 0);
  assert.equal(existsSync(credentialsFile(shell)), false);
  assert.deepEqual(shell.output.slice(-2), [
    `Logged out of ${site.api}`,
    `  the token stays valid until ${expiresAt}: platform tokens revoke`,
  ]);
  assert.equal((await site.control.call('GET', '/user', undefined, token)).status, 200);
  const revoked = await fetch(`${site.api}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token }) });
  assert.equal(revoked.status, 200);
  assert.equal((await site.control.call('GET', '/user', undefined, token)).status, 401);
  assert.equal(await run(['auth', 'whoami'], shell), 1);
  assert.match(shell.errors.join('\n'), /You are not logged in to a platform/);
});

test('whoever is not signed in is asked to, and comes back to the question', async () => {
  const browser = site.browser();
  const login = loginInBrowser(site.api, async (url) => {
    const page = await browser.visit(url);
    assert.match(page.url, /\/api\/auth\/sign-in\?redirect=/);
    const redirect = new URL(page.url).searchParams.get('redirect')!;
    const consent = await browser.submit('/api/auth/sign-in/token', { token: site.control.owner.token, redirect });
    assert.match(consent.text, /Authorize the command line\?/);
    await decide(browser, consent.url, 'allow');
  });
  assert.equal((await login).login, 'ada');
});

test('a login that is refused in the browser gives no token', async () => {
  const browser = await ownersBrowser();
  const before = await site.deps.sql`SELECT 1 FROM control.token`;
  await assert.rejects(
    loginInBrowser(site.api, (url) => decide(browser, url, 'deny')),
    { message: 'The login was refused in the browser' },
  );
  assert.equal((await site.deps.sql`SELECT 1 FROM control.token`).length, before.length);
});

test('an answer with another state is not taken', async () => {
  const browser = await ownersBrowser();
  await assert.rejects(
    loginInBrowser(site.api, (url) => decide(browser, url.replace(/state=[^&]{8}/, 'state=AAAAAAAA'), 'allow')),
    { message: 'The browser returned the result of another login' },
  );
});

test('without a browser, a code is typed in one anywhere', async () => {
  const browser = await ownersBrowser();
  let [page, code, pauses] = ['', '', 0];
  const login = loginWithCode(
    site.api,
    (shownPage, shownCode, whole) => {
      [page, code] = [shownPage, shownCode];
      assert.equal(whole, `${page}?code=${code}`);
    },
    async (ms) => {
      assert.equal(ms, 5000);
      // The first question comes before anybody has decided.
      if (++pauses !== 2) return;
      assert.match(code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
      const asked = await browser.submit(page, { code: code.toLowerCase().replace('-', ' ') });
      assert.match(asked.text, new RegExp(`to act\\s+as <strong>ada</strong>[^]*<code>${code}</code>`));
      const done = await browser.submit('/api/auth/device/decide', { ...fieldsOf(asked.text), decision: 'allow' });
      assert.match(done.text, /The command line is authorized/);
    },
  );
  const { token } = await login;
  assert.equal((await site.control.call('GET', '/user', undefined, token)).body.login, 'ada');
  // The typed code is used up.
  assert.equal((await browser.submit(page, { code })).status, 404);
});

test('a token from standard input is kept where the platform knows it', async (t) => {
  const home = newHome(t);
  const login = async (input: string): Promise<{ code: number; out: string; err: string }> => {
    const child = spawn(process.execPath, [...process.execArgv, 'cli/run.mjs', 'login', '--token', '--api', site.api], {
      env: { ...process.env, PLATFORM_HOME: home, PLATFORM_API_TOKEN: '' },
    });
    child.stdin.end(input);
    const [out, err, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? -1))),
    ]);
    return { code, out, err };
  };
  const good = await login(`${site.control.owner.token}\n`);
  assert.deepEqual([good.code, good.out.split('\n')[0]], [0, `Logged in to ${site.api} as ada`], good.err);
  const bad = await login('plt_unknown_token\n');
  assert.equal(bad.code, 1);
  assert.doesNotMatch(bad.err, /plt_unknown_token/);
});

/** Asks `POST /oauth/<what>`. */
async function ask(
  what: string,
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, string> }> {
  const body = new URLSearchParams({ client_id: 'platform-cli', ...form });
  const response = await fetch(`${site.api}/oauth/${what}`, { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

const REDIRECT = 'http://127.0.0.1:9876/callback';

/** A code that the owner has allowed, and its proof. */
async function allowedCode(): Promise<{ code: string; verifier: string }> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'platform-cli',
    redirect_uri: REDIRECT,
    state: 'state-of-this-test',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const browser = await ownersBrowser();
  const page = await browser.visit(`${site.api}/oauth/authorize?${query}`);
  const form = { ...fieldsOf(page.text), decision: 'allow' };
  const { url } = await browser.submit('/api/auth/authorize', form, (to) => to.startsWith(REDIRECT));
  assert.equal(new URL(url).searchParams.get('state'), 'state-of-this-test');
  return { code: new URL(url).searchParams.get('code')!, verifier };
}

test('a code is good once, for who has its proof, for its redirect, and for a minute', async () => {
  const grant = { grant_type: 'authorization_code', redirect_uri: REDIRECT };
  const exchange = (form: Record<string, string>) => ask('token', { ...grant, ...form });
  const first = await allowedCode();
  const good = await exchange({ code: first.code, code_verifier: first.verifier });
  assert.deepEqual([good.status, good.body['token_type'], good.body['expires_in']], [200, 'Bearer', 7_776_000]);
  const refused = async (form: Record<string, string>): Promise<void> => {
    const { status, body } = await exchange(form);
    assert.deepEqual([status, body['error'], body['code']], [400, 'invalid_grant', 'invalid_grant']);
    assert.match(body['requestId']!, /^[\w-]{8,}$/);
  };
  await refused({ code: first.code, code_verifier: first.verifier });
  const second = await allowedCode();
  await refused({ code: second.code, code_verifier: 'A'.repeat(43) });
  // A wrong proof has used it up.
  await refused({ code: second.code, code_verifier: second.verifier });
  const third = await allowedCode();
  await refused({ code: third.code, code_verifier: third.verifier, redirect_uri: 'http://127.0.0.1:1/callback' });
  const fourth = await allowedCode();
  await site.deps.sql`UPDATE control.single_use SET expires_at = now() - interval '1 second'`;
  await refused({ code: fourth.code, code_verifier: fourth.verifier });
});

test('an answer is sent to this machine by its address, and nowhere else', async () => {
  const query = (redirect: string): string =>
    String(
      new URLSearchParams({
        response_type: 'code',
        client_id: 'platform-cli',
        redirect_uri: redirect,
        state: 'state-of-this-test',
        code_challenge: 'A'.repeat(43),
        code_challenge_method: 'S256',
      }),
    );
  const refused = [
    'https://evil.example/callback',
    'http://127.0.0.1.evil.example:80/callback',
    'http://127.0.0.1:80@evil.example/callback',
    'http://localhost:9876/callback',
    'http://127.0.0.1:9876/callback/../x',
    'http://127.0.0.1:9876/callback?x',
    'http://127.0.0.1:9876/callback#x',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:99999/callback',
    'javascript:alert(1)',
    '//127.0.0.1:9876/callback',
    '',
  ];
  const browser = await ownersBrowser();
  for (const redirect of refused) {
    for (const start of [`${site.api}/oauth/authorize`, '/api/auth/authorize']) {
      const { status, headers } = await browser.request(`${start}?${query(redirect)}`);
      assert.deepEqual([status, headers.get('location')], [400, null], redirect);
    }
  }
  const twice = await browser.request(`/api/auth/authorize?${query(REDIRECT)}&redirect_uri=https://evil.example/`);
  assert.equal(twice.status, 400);
  const plain = await browser.request(`/api/auth/authorize?${query(REDIRECT).replace('S256', 'plain')}`);
  assert.equal(plain.headers.get('location'), `${REDIRECT}?error=invalid_request&state=state-of-this-test`);
  assert.equal((await browser.request(`/api/auth/authorize?${query('http://[::1]:9876/callback')}`)).status, 200);
});

test('a device that asks too often is told to slow down, and one that was refused is told so', async () => {
  const begun = await ask('device', { name: 'Tests <b>' });
  assert.equal(begun.status, 200);
  const poll = () => ask('token', { grant_type: DEVICE_GRANT, device_code: begun.body['device_code']! });
  assert.equal((await poll()).body['error'], 'authorization_pending');
  const early = await poll();
  assert.deepEqual([early.body['error'], early.body['error_description']], ['slow_down', 'Poll every 10 seconds']);
  const browser = await ownersBrowser();
  const asked = await browser.submit('/api/auth/device', { code: begun.body['user_code']! });
  assert.match(asked.text, /<strong>Tests b<\/strong>/);
  await browser.submit('/api/auth/device/decide', { ...fieldsOf(asked.text), decision: 'deny' });
  assert.equal((await poll()).body['error'], 'access_denied');
  assert.equal((await poll()).body['error'], 'expired_token');
});

test('the grants refuse what they do not know', async () => {
  const cases: [string, Record<string, string>, string][] = [
    ['token', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['token', { grant_type: 'authorization_code' }, 'invalid_request'],
    ['token', { grant_type: DEVICE_GRANT }, 'unsupported_grant_type'],
    ['token', { grant_type: DEVICE_GRANT, device_code: 'x' }, 'expired_token'],
    ['token', { grant_type: 'authorization_code', client_id: 'other' }, 'invalid_client'],
    ['device', { client_id: 'other' }, 'invalid_client'],
  ];
  for (const [what, form, error] of cases) {
    const { status, body } = await ask(what, form);
    assert.deepEqual([status, body['error']], [400, error], JSON.stringify(form));
  }
  assert.deepEqual(await ask('revoke', { token: 'plt_unknown' }), { status: 200, body: {} });
});

test('codes are typed ten times in five minutes, not more, and count by account', async () => {
  const statuses = await withinWindow(300, async () => {
    const found: number[] = [];
    await site.deps.sql`DELETE FROM control.rate`;
    for (let attempt = 0; attempt < 12; attempt++) {
      const browser = await ownersBrowser();
      await site.deps.sql`DELETE FROM control.rate WHERE key NOT LIKE 'code:usr%'`;
      found.push((await browser.submit('/api/auth/device', { code: 'BCDF-GHJK' })).status);
    }
    return found;
  });
  assert.deepEqual(statuses, [...Array<number>(10).fill(404), 429, 429]);
});

// The first setup: the state of its steps, what is skipped and finished, who may; and the same in a terminal.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { run } from '#cli/main.ts';
import { parseSetupFile } from '#cli/project/setup-file.ts';
import { createApi } from '#control/api/app.ts';
import { serveApi } from '#control/process/servers.ts';
import { readBlocks } from '#test/setup/document-blocks.ts';
import { openHttpReceiver } from '#test/setup/http-receiver.ts';
import { startSignIn, type TestSignIn } from '#test/setup/signed-in.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

const PASSWORD = 'violet tin umbrella';
let site: TestSignIn;
let server: Awaited<ReturnType<typeof serveApi>>;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-setup-'));
before(async () => {
  site = await startSignIn();
  await site.deps.sql`UPDATE control.account SET is_admin = true WHERE id = ${site.control.owner.accountId}`;
  const api = createApi();
  server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, site.control.deps) });
});
after(async () => {
  await server.close();
  await site.close();
  rmSync(folder, { recursive: true });
});

async function stepsNow(): Promise<Record<string, [state: string, message: string, advice: string | null]>> {
  const { body } = await site.control.call('GET', '/operator/setup');
  const steps = body.steps as { name: string; state: string; message: string; advice: string | null }[];
  return Object.fromEntries(steps.map(({ name, state, message, advice }) => [name, [state, message, advice]]));
}

async function setup(...words: string[]) {
  const env = {
    PLATFORM_HOME: '/nowhere',
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: site.control.owner.token,
  };
  const shell = recordingShell(folder, env);
  const code = await run(['setup', ...words], shell);
  return { code, output: shell.output, errors: shell.errors };
}

test('on a new installation every step is open, with what to do', async () => {
  const steps = await stepsNow();
  assert.deepEqual(Object.keys(steps), [
    'account',
    'domain',
    'https',
    'git-host',
    'ai',
    'backups',
    'mail',
    'invitations',
    'example',
  ]);
  assert.deepEqual(steps['account'], [
    'open',
    'You sign in with the first-run token',
    'Set a username and a password.',
  ]);
  assert.deepEqual(steps['domain'], [
    'open',
    'Projects are served on localhost',
    'Set HANDLER_DOMAIN to a domain of yours.',
  ]);
  assert.deepEqual(steps['mail'], ['open', 'No mail is set up', 'Enter a mail server.']);
  assert.deepEqual(steps['example'], ['open', 'Nothing is deployed yet', 'Deploy an example.']);
});

test('the first sign-in of an operator leads to the setup until it is finished, that of others does not', async () => {
  const { token } = site.control.owner;
  const signInTo = async (redirect?: string) =>
    (await site.browser().submit('/api/auth/sign-in/token', { token, ...(redirect !== undefined && { redirect }) }))
      .url;
  assert.equal(await signInTo(), `${site.ui}/setup`);
  assert.equal(await signInTo('/projects/shop'), `${site.ui}/projects/shop`);
  const member = await site.control.account('max');
  await site.deps.sql`UPDATE control.token SET expires_at = NULL WHERE account_id = ${member.accountId}`;
  const other = await site.browser().submit('/api/auth/sign-in/token', { token: member.token });
  assert.equal(other.url, `${site.ui}/`);
  assert.equal((await site.control.call('POST', '/operator/setup/finish')).status, 204);
  assert.equal(await signInTo(), `${site.ui}/`);
  await site.deps.sql`DELETE FROM control.setup`;
  await site.deps.sql`DELETE FROM control.account WHERE id = ${member.accountId}`;
});

test('the operator sets a first password, and none over an existing one', async () => {
  const set = (body: object) => site.control.call('POST', '/operator/setup/account', body);
  const weak = await set({ username: 'ada', password: 'password123' });
  assert.equal(weak.status, 400);
  assert.equal((await set({ username: 'ada', password: PASSWORD })).status, 204);
  assert.deepEqual((await stepsNow())['account'], ['done', 'You sign in as ada, with a password', null]);
  const again = await set({ username: 'ada', password: `${PASSWORD} 2` });
  assert.deepEqual(
    [again.status, again.body.message],
    [409, 'You already have a password: change it on your account page'],
  );
  const browser = site.browser();
  await browser.submit('/api/auth/sign-in/password', { username: 'ada', password: PASSWORD });
  assert.equal((await browser.request('/api/user')).status, 200);
});

test('a skipped step is remembered until it is returned to', async () => {
  const skip = (step: string, isSkipped: boolean) =>
    site.control.call('POST', `/operator/setup/steps/${step}`, { isSkipped });
  assert.equal((await skip('backups', true)).status, 204);
  assert.equal((await stepsNow())['backups']![0], 'skipped');
  assert.equal((await skip('backups', false)).status, 204);
  assert.equal((await stepsNow())['backups']![0], 'open');
  assert.equal((await skip('finished', true)).status, 404);
});

test('DNS of a domain is looked up: missing, of another machine, and right', async () => {
  const { names, addresses } = site.control.deps as {
    names: { addresses: (name: string) => Promise<readonly string[]> };
    addresses: { publicAddresses?: readonly string[] };
  };
  addresses.publicAddresses = ['203.0.113.7'];
  const asked: string[] = [];
  let found: string[] = [];
  const usual = names.addresses;
  names.addresses = (name) => (asked.push(name), Promise.resolve(found));
  try {
    const check = async (domain: string) =>
      (await site.control.call('GET', `/operator/setup/dns?domain=${encodeURIComponent(domain)}`)).body;
    assert.deepEqual(await check('apps.example.com'), {
      records: [
        { type: 'A', name: 'apps.example.com', value: '203.0.113.7' },
        { type: 'A', name: '*.apps.example.com', value: '203.0.113.7' },
      ],
      found: [],
      isReady: false,
      message: '*.apps.example.com has no addresses yet',
    });
    assert.deepEqual(asked, ['platform--address.apps.example.com']);
    found = ['198.51.100.1'];
    assert.equal(
      (await check('apps.example.com')).message,
      '*.apps.example.com leads to 198.51.100.1, and this platform is at 203.0.113.7',
    );
    found = ['203.0.113.7'];
    assert.equal((await check('apps.example.com')).isReady, true);
    for (const domain of ['localhost', '-x.example.com', 'a b.example', '127.0.0.1', `${'a.'.repeat(150)}com`])
      assert.equal(
        (await site.control.call('GET', `/operator/setup/dns?domain=${encodeURIComponent(domain)}`)).status,
        400,
      );
    names.addresses = () => Promise.reject(Object.assign(new Error('x'), { code: 'ETIMEOUT' }));
    assert.equal((await check('apps.example.com')).message, 'DNS does not answer for apps.example.com: ETIMEOUT');
  } finally {
    names.addresses = usual;
    delete addresses.publicAddresses;
  }
});

test('only operators see and change the setup', async () => {
  const { token } = await site.control.account('owner', { [site.control.organizationId]: 'owner' });
  for (const [method, at, body] of [
    ['GET', '/operator/setup', undefined],
    ['GET', '/operator/setup/dns?domain=apps.example.com', undefined],
    ['POST', '/operator/setup/account', { username: 'x', password: PASSWORD }],
    ['POST', '/operator/setup/finish', undefined],
    ['POST', '/operator/setup/steps/mail', { isSkipped: true }],
  ] as const)
    assert.equal((await site.control.call(method, at, body, token)).status, 403, at);
});

test('a file sets up an installation without questions, and again changes nothing', async () => {
  const receiver = await openHttpReceiver();
  try {
    writeFileSync(
      path.join(folder, 'setup.yaml'),
      `account: { username: ada, password: ${PASSWORD} }
settings:
  AUTH_MAIL_URL: ${receiver.url}/mail
  SIGN_UP: invited
test_mail: ada@example.com
ai: { name: mock, kind: mock }
invitations:
  - { email: grace@example.com, role: member }
skip: [domain, https]
finish: true
`,
    );
    const first = await setup('--file', 'setup.yaml');
    assert.equal(first.code, 0, first.errors.join('\n'));
    assert.deepEqual(first.errors, [
      'Done settings AUTH_MAIL_URL, SIGN_UP',
      'Done test email to ada@example.com',
      'Done AI provider mock',
      'Done invitation to grace@example.com',
    ]);
    const shown = first.output.join('\n');
    assert.match(shown, /^done\s+account\s+You sign in as ada, with a password$/m);
    assert.match(shown, /^skipped\s+domain /m);
    assert.match(shown, /^done\s+mail\s+Emails are sent$/m);
    assert.equal((await site.control.call('GET', '/operator/setup')).body.isFinished, true);
    const again = await setup('--file', 'setup.yaml');
    assert.ok(!again.errors.includes('Done invitation to grace@example.com'));
    assert.equal(again.code, 0);
  } finally {
    await receiver.goAway();
  }
});

test('a file with mistakes changes nothing, and each is named with its line', async () => {
  writeFileSync(
    path.join(folder, 'wrong.yaml'),
    `account: { username: ada }
settings:
  SIGN_UP: everybody
  DATABASE_URL: postgres://x
invitations:
  - { email: nobody, role: god }
finnish: true
`,
  );
  const { code, errors } = await setup('--file', 'wrong.yaml');
  assert.equal(code, 2);
  const lines = errors.join('\n');
  assert.match(lines, /wrong\.yaml:1:10: account needs the key "password"/);
  assert.match(lines, /wrong\.yaml:3:12: settings\.SIGN_UP must be one of invited, open, not "everybody"/);
  assert.match(lines, /wrong\.yaml:4:3: Unknown key "DATABASE_URL" in settings/);
  assert.match(lines, /wrong\.yaml:6:14: invitations\[0\]\.email must be an email address, not "nobody"/);
  assert.match(lines, /wrong\.yaml:7:1: Unknown key "finnish"[^]*Did you mean "finish"\?/);
  const missing = await setup('--file', 'nothing.yaml');
  assert.deepEqual([missing.code, missing.errors[0]!.split('\n')[0]], [2, 'error nothing.yaml cannot be read: ENOENT']);
});

test('the file that the documentation shows has no mistakes', () => {
  const [block] = readBlocks().filter(({ reason }) => reason === 'of setup.yaml');
  assert.deepEqual(parseSetupFile(block!.text, 'setup.yaml').problems, []);
});

test('in a terminal the steps are shown, and those without a secret are offered', async () => {
  const env = {
    PLATFORM_HOME: '/nowhere',
    PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
    PLATFORM_API_TOKEN: site.control.owner.token,
  };
  const shell = recordingShell(folder, env, { isTerminal: true, answers: ['n'] });
  assert.equal(await run(['setup'], shell), 0);
  const shown = shell.output.join('\n');
  assert.match(shown, /open\S*\s+example\s+Nothing is deployed yet/);
  assert.match(shown, new RegExp(`Passwords and mail servers are entered at ${site.ui}/setup, or with --file\\.`));
});

// Settings that operators change while the platform runs: who may, what is refused, and that each process follows them.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { run } from '#cli/main.ts';
import { createApi } from '#control/api/app.ts';
import { followSettings, openLiveSettings } from '#control/process/live-settings.ts';
import { serveApi } from '#control/process/servers.ts';
import { encryptionKeys } from '#core/encryption.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import { openHttpReceiver } from '#test/setup/http-receiver.ts';
import { until } from '#test/setup/until.ts';
import { recordingShell } from '#test/unit/cli/recording-shell.ts';

const PATH = '/operator/settings';
let control: TestControl;
before(async () => {
  control = await startControl();
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
});
after(() => control.close());
beforeEach(async () => {
  await control.sql`DELETE FROM control.setting`;
  await control.deps.settings.reload();
});

test('mail is set up without a restart, and its URL is not shown again', async () => {
  const receiver = await openHttpReceiver();
  try {
    assert.equal((await control.call('POST', '/operator/mail/test', { to: 'ada@example.com' })).status, 501);
    const url = `${receiver.url}/secret-path`;
    const { status, body } = await control.call('PATCH', PATH, { AUTH_MAIL_URL: url, SIGN_UP: 'open' });
    assert.equal(status, 200);
    const [mailUrl, from, signIn, signUp] = body.items;
    assert.deepEqual(
      { ...mailUrl, changedAt: '' },
      { name: 'AUTH_MAIL_URL', value: null, isSecret: true, source: 'platform', changedBy: 'ada', changedAt: '' },
    );
    assert.deepEqual([from.source, signIn.source, signUp.value], ['default', 'default', 'open']);
    assert.equal((await control.call('POST', '/operator/mail/test', { to: 'ada@example.com' })).status, 200);
    assert.equal(receiver.received[0]!.url, '/secret-path');
    const [channel] = await control.sql<{ is_on: boolean }[]>`SELECT is_on FROM control.mail_channel`;
    assert.equal(channel!.is_on, true);
    const kept = await control.sql<{ value: Buffer }[]>`SELECT value FROM control.setting`;
    const audit = await control.sql<{ details: { set: string[]; removed: string[] } }[]>`
      SELECT details FROM control.audit_event WHERE action = 'operator.settings'`;
    const [{ set, removed }] = audit.map(({ details }) => details) as [{ set: string[]; removed: string[] }];
    assert.deepEqual([set, removed], [['AUTH_MAIL_URL', 'SIGN_UP'], []]);
    assert.doesNotMatch(
      JSON.stringify([body, audit, kept.map(({ value }) => value.toString('latin1'))]),
      /secret-path/,
    );
    await control.call('PATCH', PATH, { AUTH_MAIL_URL: null });
    assert.equal((await control.call('POST', '/operator/mail/test', { to: 'ada@example.com' })).status, 501);
  } finally {
    await receiver.goAway();
  }
});

test('settings with which the platform could not run are refused, and nothing is stored', async () => {
  const cases: readonly (readonly [body: object, message: string])[] = [
    [
      { AUTH_MAIL_URL: 'smtp://user:hunter2@mail.example.com' },
      'body: MAIL_FROM is not set, but AUTH_MAIL_URL is a mail server: set it, such as platform@example.com',
    ],
    [
      { AUTH_MAIL_URL: 'imap://user:hunter2@mail.example.com' },
      'body: AUTH_MAIL_URL must begin with http:// or https:// or smtp:// or smtps://',
    ],
    [{ SIGN_UP: 'everybody' }, 'body: SIGN_UP must be invited or open'],
  ];
  for (const [body, message] of cases) {
    const answer = await control.call('PATCH', PATH, body);
    assert.deepEqual([answer.status, answer.body.message], [400, message]);
  }
  for (const body of [{ DATABASE_URL: 'postgres://x' }, { SIGN_UP: 5 }, { SIGN_UP: '' }, { SIGN_UP: 'x'.repeat(2049) }])
    assert.equal((await control.call('PATCH', PATH, body)).status, 400);
  assert.equal((await control.sql`SELECT FROM control.setting`).length, 0);
});

test('a variable of the environment overrides a stored value', async () => {
  await control.call('PATCH', PATH, { SIGN_UP: 'open' });
  const { sql, keys, log } = control.deps;
  const settings = await openLiveSettings({ sql, keys, log, environment: { SIGN_UP: 'invited' } });
  assert.equal(settings.current().signUp, 'invited');
  const listed = (await settings.list()).find(({ name }) => name === 'SIGN_UP')!;
  assert.deepEqual([listed.value, listed.source], ['invited', 'environment']);
  assert.equal(settings.isFixed('SIGN_UP'), true);
  const api = createApi();
  const answer = await api.fetch(
    new Request(`http://localhost${PATH}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${control.owner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ SIGN_UP: 'open' }),
    }),
    { ...control.deps, settings },
  );
  assert.equal(answer.status, 409);
});

test('another API process follows a change, and a lost key leaves the defaults', async () => {
  const { sql, keys, log, onNotify } = control.deps;
  const other = await openLiveSettings({ sql, keys, log, environment: {} });
  const stopping = new AbortController();
  let changes = 0;
  const following = followSettings({ settings: other, log, stopping: stopping.signal, onNotify }, async () => {
    changes++;
  });
  await until(async () => {
    // It may not listen yet.
    await control.call('PATCH', PATH, { SIGN_UP: 'open' });
    return other.current().signUp === 'open';
  });
  assert.equal(changes, 1);
  stopping.abort();
  await following;
  const strange = encryptionKeys('abcdef0123456789abcdef0123456789abcdef');
  const lost = await openLiveSettings({ sql, keys: strange, log, environment: {} });
  assert.equal(lost.current().signUp, 'invited');
});

test('only operators read and change settings, also in the terminal', async () => {
  const { token } = await control.account('max', { [control.organizationId]: 'owner' });
  assert.equal((await control.call('GET', PATH, undefined, token)).status, 403);
  assert.equal((await control.call('PATCH', PATH, { SIGN_UP: 'open' }, token)).status, 403);
  const api = createApi();
  const server = await serveApi({ port: 0, host: '127.0.0.1', fetch: (request) => api.fetch(request, control.deps) });
  const call = async (input: string, ...words: string[]): Promise<readonly [number, string[]]> => {
    const env = {
      PLATFORM_HOME: '/nowhere',
      PLATFORM_API_URL: `http://127.0.0.1:${server.port}`,
      PLATFORM_API_TOKEN: control.owner.token,
    };
    const shell = recordingShell('/', env, { input });
    return [await run(words, shell), [...shell.output, ...shell.errors]];
  };
  try {
    assert.deepEqual(await call('', 'settings', 'set', 'SIGN_UP=open', 'MAIL_FROM=a@example.com'), [
      0,
      ['Set SIGN_UP, MAIL_FROM'],
    ]);
    assert.deepEqual(await call('https://hooks.example.com/x\n', 'settings', 'set', 'AUTH_MAIL_URL'), [
      0,
      ['Set AUTH_MAIL_URL'],
    ]);
    const [code, lines] = await call('', 'settings');
    assert.equal(code, 0);
    assert.match(lines.join('\n'), /AUTH_MAIL_URL\s+\(hidden\)\s+platform/);
    assert.match(lines.join('\n'), /SIGN_UP\s+open\s+platform/);
    assert.deepEqual(await call('', 'settings', 'unset', 'SIGN_UP'), [0, ['Removed SIGN_UP']]);
    assert.equal(control.deps.settings.current().signUp, 'invited');
  } finally {
    await server.close();
  }
});

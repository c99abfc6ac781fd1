// Users of an app without a handler: cookies over https, and what the log says.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createUsers } from '#runtime/engine/auth/users.ts';
import { PlatformError } from '#core/errors.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';

/** Passwords that cost a hundredth. */
const cheap = { secret: Buffer.alloc(32, 9), passwordCost: 128 };
const work = new HostWork();
let databases: TestDatabases;

before(async () => {
  databases = await startDatabases();
});
after(async () => {
  await work.close();
  await databases.close();
});

test('over https sessions have cookies that no other host can set, and only these count', async () => {
  const users = createUsers({
    databases: databases.client,
    work,
    ...cheap,
    protocol: 'https',
    deliversMail: () => Promise.resolve(false),
    sendMail: async () => {},
    log: () => {},
  });
  const site = { namespace: 'safe', origin: 'https://safe.example.org', vars: {} };
  const body = JSON.stringify({ email: 'ada@example.org', password: 'password1', name: '' });
  const headers = { 'content-type': 'application/json', 'x-real-ip': '192.0.2.200', origin: site.origin };
  const response = await users.handle(
    site,
    new Request(`${site.origin}/auth/sign-up/email`, { method: 'POST', body, headers }),
  );
  const [cookie] = response.headers.getSetCookie() as [string];
  assert.match(
    cookie,
    /^__Host-platform\.session_token=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  );
  const [, value] = /=([^;]+)/.exec(cookie) as unknown as [string, string];
  const userOf = async (name: string): Promise<unknown> =>
    (await users.getSession('safe', { cookie: `${name}=${value}`, authorization: '' }))?.user.email ?? null;
  assert.equal(await userOf('__Host-platform.session_token'), 'ada@example.org');
  assert.equal(await userOf('x=1; __Host-platform.session_token'), 'ada@example.org');
  for (const name of [
    'platform.session_token',
    '__Secure-platform.session_token',
    'x__Host-platform.session_token',
    '__host-platform.session_token',
    'x=\n; __Host-platform.session_token',
    'x=\u{1f600}; __Host-platform.session_token',
  ])
    assert.equal(await userOf(name), null, name);
  const asked = new Request(`${site.origin}/auth/get-session`, {
    headers: { cookie: `platform.session_token=${value}` },
  });
  assert.equal(await (await users.handle(site, asked)).json(), null);
});

test('nothing of sign-in is printed past the log, and what goes wrong is in it without what visitors sent', async (t) => {
  const printed: string[] = [];
  for (const method of ['log', 'info', 'warn', 'error'] as const)
    t.mock.method(console, method, (...given: unknown[]) => void printed.push(given.map(String).join(' ')));
  const logged: string[] = [];
  let fails: RegExp | null = null;
  const users = createUsers({
    databases: {
      run(place, op, transaction, payload) {
        if (fails?.test(payload.replaceAll('\\"', '"')))
          return Promise.reject(new PlatformError('database_unavailable', { reason: 'of users' }));
        return databases.client.run(place, op, transaction, payload);
      },
    },
    work,
    ...cheap,
    protocol: 'http',
    deliversMail: () => Promise.resolve(false),
    sendMail: () => Promise.reject(new Error('no postman')),
    log: (level, message) => logged.push(`${level} ${message}`),
  });
  const site = { namespace: 'quiet', origin: 'https://quiet.example.org', vars: {} };
  let visitors = 0;
  const ask = async (path: string, body: string): Promise<number | string> => {
    const headers = { 'content-type': 'application/json', 'x-real-ip': `192.0.2.${++visitors}` };
    const request = new Request(`${site.origin}/auth${path}`, { method: 'POST', body, headers });
    return users.handle(site, request).then(
      ({ status }) => status,
      (error: Error) => error.message,
    );
  };
  const ada = { email: 'ada@example.org', password: 'hunter2hunter2', name: '' };
  assert.equal(await ask('/sign-up/email', JSON.stringify(ada)), 200);
  assert.equal(await ask('/sign-in/email', JSON.stringify({ ...ada, password: 'hunter3hunter3' })), 401);
  assert.equal(await ask('/sign-in/email', JSON.stringify({ email: 'ada' })), 400);
  assert.equal(await ask('/sign-in/email', '{"password":hunter2'), 400);
  assert.equal(await ask('/request-password-reset', JSON.stringify({ email: ada.email })), 200);
  fails = /from "user"/;
  assert.equal(await ask('/sign-in/email', JSON.stringify(ada)), 'The database cannot be reached: of users');
  fails = /./;
  assert.equal(await ask('/sign-in/email', JSON.stringify(ada)), 'The database cannot be reached: of users');
  t.mock.restoreAll();
  assert.deepEqual(printed, []);
  assert.deepEqual(logged, [
    'warn auth: Invalid password',
    'error auth: no postman',
    'error auth: The database cannot be reached: of users',
    'error auth: The database cannot be reached: of users',
  ]);
});

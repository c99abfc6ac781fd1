// Sign-in for an app's visitors, over HTTP and from the worker, on the database service.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAuthRoutes } from '#runtime/engine/auth/routes.ts';
import { type Mail } from '#runtime/engine/auth/site.ts';
import { createUsers } from '#runtime/engine/auth/users.ts';
import { PlatformError } from '#core/errors.ts';
import { noStores } from '#runtime/engine/bindings/bindings.ts';
import { HostWork } from '#runtime/engine/work/host-work.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { send, startHandler, type TestHandler, type TestResponse } from '#test/setup/handler.ts';

const worker = `
export default {
  async fetch(request, { PLATFORM_AUTH }) {
    if (request.method === 'GET') return Response.json(await PLATFORM_AUTH.getSession(request));
    const run = new Function('AUTH', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(PLATFORM_AUTH)) ?? null); }
    catch (error) { return Response.json({ error: error.message, code: error.code }); }
  },
};`;
const yaml = 'auth:\n  binding: PLATFORM_AUTH\n';
/** Passwords that cost a hundredth: how dear one is, is the fact of a test of its own. */
const cheap = { secret: Buffer.alloc(32, 9), passwordCost: 128 };

let databases: TestDatabases;
const work = new HostWork();
let handler: TestHandler;
/** Behind a proxy whose port is another. */
let proxied: TestHandler;
/** Whose letters reach people. */
let lettered: TestHandler;
const mails: Mail[] = [];

before(async () => {
  databases = await startDatabases();
  const users = createUsers({
    databases: databases.client,
    work,
    ...cheap,
    protocol: 'http',
    deliversMail: false,
    sendMail: async (mail) => void mails.push(mail),
    log: () => {},
  });
  handler = await startHandler(
    {
      shop: { files: worker, yaml },
      rival: { files: worker, yaml },
      strict: {
        files: worker,
        yaml,
        vars: { AUTH_REQUIRE_VERIFICATION: 'true', AUTH_GITHUB_CLIENT_ID: 'id', AUTH_GITHUB_CLIENT_SECRET: 'secret' },
      },
      renamed: {
        files: `export default { fetch: async (request, env) => Response.json([env.USERS === env.PLATFORM_AUTH, await env.PLATFORM_AUTH.getUser('x'), Object.keys(env).sort()]) };`,
        yaml: 'auth:\n  binding: USERS\n',
        vars: { PLATFORM_AUTH: 'a variable does not shadow it' },
      },
      plain: `export default { fetch: (request) => new Response(new URL(request.url).pathname) };`,
    },
    {},
    { stores: { ...noStores, auth: users }, authRoutes: createAuthRoutes(users), trustedProxies: ['127.0.0.1'] },
  );
  proxied = await startHandler(
    { proxied: { files: worker, yaml, vars: { AUTH_GITHUB_CLIENT_ID: 'id', AUTH_GITHUB_CLIENT_SECRET: 'secret' } } },
    {},
    { stores: { ...noStores, auth: users }, authRoutes: createAuthRoutes(users), publicPort: 8080 },
  );
  const withLetters = createUsers({
    databases: databases.client,
    work,
    ...cheap,
    protocol: 'http',
    deliversMail: true,
    sendMail: (mail) => {
      mails.push(mail);
      // It fails later, which nobody who asked hears of.
      return mail.to.startsWith('bounces') ? Promise.reject(new Error('no postman')) : Promise.resolve();
    },
    log: () => {},
  });
  lettered = await startHandler(
    { letters: { files: worker, yaml }, open: { files: worker, yaml, vars: { AUTH_REQUIRE_VERIFICATION: 'false' } } },
    {},
    {
      stores: { ...noStores, auth: withLetters },
      authRoutes: createAuthRoutes(withLetters),
      trustedProxies: ['127.0.0.1'],
    },
  );
});
after(async () => {
  await handler.close();
  await proxied.close();
  await lettered.close();
  await work.close();
  await databases.close();
});

let client = 0;

/** Each call comes from a client of its own, unless it says whose it is. */
async function post(
  project: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<TestResponse> {
  return handler.fetch(project, path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-forwarded-for': `192.0.2.${++client}`, ...headers },
  });
}

function cookieOf(response: TestResponse): string {
  return String(response.headers['set-cookie']?.[0]).split(';')[0] as string;
}

async function run(code: string, project = 'shop'): Promise<unknown> {
  return (await handler.fetch(project, '/', { method: 'POST', body: code })).json();
}

test('signing up, in and out over HTTP, with the session in a cookie', async () => {
  const up = await post('shop', '/auth/signup', {
    email: 'Ada@Example.org',
    password: 'lovelace1',
    metadata: { plan: 'pro' },
  });
  assert.equal(up.status, 200);
  const { user } = up.json() as { user: Record<string, unknown> };
  assert.deepEqual(
    [user['email'], user['emailVerified'], user['metadata']],
    ['ada@example.org', false, { plan: 'pro' }],
  );
  assert.match(String(up.headers['set-cookie']?.[0]), /HttpOnly/);
  assert.match(String(up.headers['set-cookie']?.[0]), /SameSite=Lax/);
  const inside = await post('shop', '/auth/signin', { email: 'ada@example.org', password: 'lovelace1' });
  const headers = { cookie: cookieOf(inside) };
  assert.deepEqual((await handler.fetch('shop', '/auth/me', { headers })).json(), { user });
  assert.deepEqual(((await handler.fetch('shop', '/', { headers })).json() as { user: unknown }).user, user);
  for (const from of [{ origin: 'http://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
    assert.equal((await post('shop', '/auth/signout', {}, { ...headers, ...from } as typeof headers)).status, 403);
  assert.equal((await post('shop', '/auth/signout', {}, headers)).status, 200, 'a program names no page');
  const gone = await handler.fetch('shop', '/auth/me', { headers });
  assert.deepEqual([gone.status, gone.json()], [401, { error: 'Not signed in' }]);
  assert.equal((await handler.fetch('shop', '/', { headers })).json(), null);
});

test('refusals say what is wrong, and nothing more', async () => {
  await post('shop', '/auth/signup', { email: 'taken@example.org', password: 'password1' });
  const cases: [string, unknown, number, string][] = [
    ['/auth/signup', { email: 'taken@example.org', password: 'password1' }, 409, 'User already exists'],
    ['/auth/signup', { email: 'x@example.org', password: 'short' }, 400, 'Password too short'],
    ['/auth/signup', { email: 'x@example.org' }, 400, 'email and password are required'],
    ['/auth/signup', '{', 400, 'The body must be a JSON object'],
    [
      '/auth/signup',
      { email: 'x@example.org', password: 'password1', metadata: [] },
      400,
      'metadata must be an object',
    ],
    ['/auth/signin', { email: 'taken@example.org', password: 'password2' }, 401, 'Invalid credentials'],
    ['/auth/signin', { email: 'nobody@example.org', password: 'password2' }, 401, 'Invalid credentials'],
    ['/auth/signin', 'x'.repeat(20_000), 413, 'The body may have 16384 bytes'],
  ];
  for (const [path, body, status, error] of cases) {
    const response = await post('shop', path, body);
    assert.deepEqual([response.status, response.json()], [status, { error }], JSON.stringify(body).slice(0, 60));
  }
});

test('guessing is slowed down for one client, and for nobody else', async () => {
  const guess = (from: string): Promise<TestResponse> =>
    post('shop', '/auth/signin', { email: 'taken@example.org', password: 'password9' }, { 'x-forwarded-for': from });
  const statuses = [];
  for (let time = 0; time < 5; time++) statuses.push((await guess('198.51.100.7')).status);
  assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  const slowed = await guess('198.51.100.7');
  assert.match(String(slowed.headers['retry-after']), /^\d+$/);
  assert.equal((await guess('198.51.100.8')).status, 401);
});

test('a forgotten password is set anew with the letter, and ends all sessions', async () => {
  const up = await post('shop', '/auth/signup', { email: 'forgetful@example.org', password: 'password1' });
  assert.equal((await post('shop', '/auth/reset-password', { email: 'forgetful@example.org' })).status, 200);
  assert.equal((await post('shop', '/auth/reset-password', { email: 'unknown@example.org' })).status, 200);
  const letter = mails.filter(({ to }) => to.endsWith('@example.org')).at(-1) as Mail;
  assert.equal(letter.to, 'forgetful@example.org');
  const token = /code: (\S+)/.exec(letter.text)?.[1];
  assert.equal((await post('shop', '/auth/reset-password', { token, password: 'password2' })).status, 200);
  assert.equal((await post('shop', '/auth/reset-password', { token, password: 'password3' })).status, 400);
  assert.equal((await handler.fetch('shop', '/auth/me', { headers: { cookie: cookieOf(up) } })).status, 401);
  assert.equal(
    (await post('shop', '/auth/signin', { email: 'forgetful@example.org', password: 'password1' })).status,
    401,
  );
  assert.equal(
    (await post('shop', '/auth/signin', { email: 'forgetful@example.org', password: 'password2' })).status,
    200,
  );
});

test('where addresses must be confirmed, nobody is signed in before', async () => {
  const up = await post('strict', '/auth/signup', { email: 'new@example.org', password: 'password1' });
  assert.deepEqual([up.status, (up.json() as { token: unknown }).token], [200, null]);
  assert.equal((await post('strict', '/auth/signin', { email: 'new@example.org', password: 'password1' })).status, 403);
  const address = new URL(
    /(http\S+)/.exec((mails.findLast(({ to }) => to === 'new@example.org') as Mail).text)?.[1] as string,
  );
  assert.equal(address.host, 'strict.localhost');
  assert.equal((await handler.fetch('strict', address.pathname + address.search)).status, 302);
  assert.equal((await post('strict', '/auth/signin', { email: 'new@example.org', password: 'password1' })).status, 200);
});

test('the letter leads to the page that the app names, and without one says the code alone', async () => {
  await post('shop', '/auth/signup', { email: 'paged@example.org', password: 'password1' });
  const lettersOf = (): string[] => mails.filter(({ to }) => to === 'paged@example.org').map(({ text }) => text);
  await post('shop', '/auth/reset-password', { email: 'paged@example.org' });
  assert.doesNotMatch(lettersOf().at(-1) as string, /http/);
  await post('shop', '/auth/reset-password', { email: 'paged@example.org', redirectTo: '/new-password' });
  const address = new URL(/(http\S+)/.exec(lettersOf().at(-1) as string)?.[1] as string);
  const led = await handler.fetch('shop', address.pathname + address.search);
  assert.equal(led.status, 302);
  assert.match(String(led.headers.location), /^http:\/\/shop\.localhost\/new-password\?token=/);
  const away = await post('shop', '/auth/reset-password', {
    email: 'paged@example.org',
    redirectTo: 'https://evil.example/',
  });
  assert.equal(away.status, 403);
  assert.equal(lettersOf().length, 2);
});

test('where the operator says the port, letters and providers lead there, whatever the client wrote behind the host', async () => {
  const ask = (
    host: string,
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> =>
    send(proxied.port, host, path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const email = 'far@example.org';
  const up = await ask('proxied.localhost:1337', '/auth/signup', { email, password: 'password1' });
  assert.equal(up.status, 200, up.text);
  await ask('proxied.localhost:1337', '/auth/reset-password', { email, redirectTo: '/new' });
  const address = new URL(/(http\S+)/.exec(mails.at(-1)!.text)?.[1] as string);
  assert.equal(address.origin, 'http://proxied.localhost:8080');
  const target = new URL(
    String((await send(proxied.port, 'proxied.localhost', '/auth/oauth/github')).headers.location),
  );
  assert.equal(target.searchParams.get('redirect_uri'), 'http://proxied.localhost:8080/auth/callback/github');
  // Pages of the app itself, under the port that the proxy took away and without.
  for (const [origin, status] of [
    ['http://proxied.localhost:8080', 200],
    ['http://proxied.localhost', 200],
    ['http://proxied.localhost:1337', 403],
  ] as const) {
    const cookie = cookieOf(
      await ask('proxied.localhost', '/auth/signin', { email, password: 'password1' }, { 'x-real-ip': origin }),
    );
    assert.equal((await ask('proxied.localhost', '/auth/signout', {}, { cookie, origin })).status, status, origin);
  }
});

test("what an app says of a user is not the user's to change", async () => {
  const given = { plan: 'free' };
  const up = await post('shop', '/auth/signup', { email: 'own@example.org', password: 'password1', metadata: given });
  const headers = { cookie: cookieOf(up), origin: 'http://shop.localhost' };
  const changed = await post('shop', '/auth/update-user', { metadata: '{"plan":"pro"}' }, headers);
  assert.equal(changed.status, 400, changed.text);
  assert.equal((await post('shop', '/auth/update-user', { name: 'Own' }, headers)).status, 200);
  const { user } = (await handler.fetch('shop', '/auth/me', { headers })).json() as { user: Record<string, unknown> };
  assert.deepEqual([user['name'], user['metadata']], ['Own', given]);
});

test('a provider that the project has keys of is asked; another one is not there', async () => {
  const response = await handler.fetch('strict', '/auth/oauth/github?callbackURL=/home');
  assert.equal(response.status, 302);
  const target = new URL(String(response.headers.location));
  assert.deepEqual([target.host, target.searchParams.get('client_id')], ['github.com', 'id']);
  assert.equal(target.searchParams.get('redirect_uri'), 'http://strict.localhost/auth/callback/github');
  assert.equal((await handler.fetch('strict', '/auth/oauth/google')).status, 404);
  assert.equal((await handler.fetch('strict', '/auth/oauth/github?callbackURL=https://evil.example')).status, 403);
});

test('the binding reads tokens, makes, lists and removes users, and really revokes', async () => {
  const { token } = (
    await post('shop', '/auth/signup', { email: 'bound@example.org', password: 'password1' })
  ).json() as { token: string };
  assert.deepEqual(
    await run(`
      const token = ${JSON.stringify(token)};
      const before = [(await AUTH.getUser(token)).email, await AUTH.verifyToken(token), await AUTH.verifyToken('nonsense'), await AUTH.getUser(5)];
      await AUTH.revoke(token);
      return [...before, await AUTH.getUser(token), await AUTH.verifyToken(token)];`),
    ['bound@example.org', true, false, null, null, false],
  );
  assert.equal(
    (await handler.fetch('shop', '/auth/me', { headers: { authorization: `Bearer ${token}` } })).status,
    401,
  );
  assert.deepEqual(
    await run(`
      const made = await AUTH.createUser({ email: 'Made@Example.org', password: 'password1', name: 'M', metadata: { a: 1 }, emailVerified: true });
      const again = await AUTH.createUser({ email: 'made@example.org' }).catch((error) => error.message);
      const found = (await AUTH.listUsers({ email: 'made@example.org' })).users;
      const page = await AUTH.listUsers({ limit: 1 });
      await AUTH.deleteUser(made.id);
      return [made.email, made.metadata, again, found.length, page.users.length, page.cursor, (await AUTH.listUsers({ email: 'made@example.org' })).users];`),
    ['made@example.org', { a: 1 }, 'User already exists', 1, 1, '1', []],
  );
});

test('users of one project are strangers to another', async () => {
  const { token } = (
    await post('shop', '/auth/signup', { email: 'mine@example.org', password: 'password1' })
  ).json() as { token: string };
  assert.equal(await run(`return AUTH.getUser(${JSON.stringify(token)});`, 'rival'), null);
  assert.equal((await post('rival', '/auth/signin', { email: 'mine@example.org', password: 'password1' })).status, 401);
  const cookie = cookieOf(await post('shop', '/auth/signin', { email: 'mine@example.org', password: 'password1' }));
  assert.equal((await handler.fetch('rival', '/', { headers: { cookie } })).json(), null);
});

test('where letters are sent, signing up and forgetting a password answer alike whether there is an account or not', async () => {
  const ask = (path: string, body: object, project = 'letters'): Promise<TestResponse> =>
    lettered.fetch(project, path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `198.51.100.${++client % 200}` },
    });
  /** All that a client sees of an answer, without what is different in each. */
  const seen = ({ status, headers, text }: TestResponse): unknown => [
    status,
    Object.keys(headers).sort(),
    text.replace(/"id":"[A-Za-z0-9]{32}"/, 'id').replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, 'time'),
  ];
  const person = { email: 'ada@letters.example', password: 'password1', name: 'Ada' };
  for (const [path, body] of [
    ['/auth/signup', { metadata: { plan: 'pro' } }],
    ['/auth/signup', {}],
    ['/auth/sign-up/email', {}],
  ] as const) {
    const fresh = { ...person, ...body, email: `${client}@letters.example` };
    const first = await ask(path, fresh);
    const second = await ask(path, fresh);
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(seen(second), seen(first));
    assert.deepEqual(
      mails.filter(({ to }) => to === fresh.email).map(({ subject }) => subject),
      ['Confirm your address', 'You have an account already'],
    );
  }
  const up = await ask('/auth/signup', person);
  assert.deepEqual([(up.json() as { token: unknown }).token, up.headers['set-cookie']], [null, undefined]);
  assert.equal((await ask('/auth/signup', { ...person, email: 'bounces@letters.example' })).status, 200);
  for (const path of [
    '/auth/reset-password',
    '/auth/request-password-reset',
    '/auth/verify-email',
    '/auth/send-verification-email',
  ])
    assert.deepEqual(
      seen(await ask(path, { email: 'bounces@letters.example' })),
      seen(await ask(path, { email: 'nobody@letters.example' })),
      path,
    );
  // A second sign-up changed nothing of the first one's, and its address is confirmed by letter, at the latest when it
  // signs in.
  await ask('/auth/signup', { ...person, password: 'password2' });
  assert.equal((await ask('/auth/signin', { ...person, password: 'password2' })).status, 401);
  assert.equal((await ask('/auth/signin', person)).status, 403);
  const letter = mails.findLast(({ to, subject }) => to === person.email && subject === 'Confirm your address') as Mail;
  const address = new URL(/(http\S+)/.exec(letter.text)?.[1] as string);
  assert.equal((await lettered.fetch('letters', address.pathname + address.search)).status, 302);
  assert.equal((await ask('/auth/signin', person)).status, 200);
  // A project may choose otherwise.
  assert.notEqual(((await ask('/auth/signup', person, 'open')).json() as { token: unknown }).token, null);
  assert.equal((await ask('/auth/signup', person, 'open')).status, 409);
});

test('over https sessions have cookies that no other host can set, and only these count', async () => {
  const users = createUsers({
    databases: databases.client,
    work,
    ...cheap,
    protocol: 'https',
    deliversMail: false,
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

test('it is there as PLATFORM_AUTH too, whatever name it is declared with', async () => {
  assert.deepEqual((await handler.fetch('renamed')).json(), [true, null, ['PLATFORM_AUTH', 'USERS', 'vars']]);
});

test('a project without auth keeps its own /auth/', async () => {
  assert.equal((await handler.fetch('plain', '/auth/me')).text, '/auth/me');
});

test('a forged cookie signs nobody in', async () => {
  const cookie = cookieOf(await post('shop', '/auth/signup', { email: 'forged@example.org', password: 'password1' }));
  const [name, value] = cookie.split('=') as [string, string];
  const forged = `${name}=${encodeURIComponent(`${decodeURIComponent(value).split('.')[0]}.${Buffer.alloc(32).toString('base64')}`)}`;
  assert.equal((await handler.fetch('shop', '/', { headers: { cookie: forged } })).json(), null);
  assert.equal((await handler.fetch('shop', '/auth/me', { headers: { cookie: forged } })).status, 401);
});

test('a client that writes another port behind the host each time opens a few sites, and those that are open answer on', async () => {
  const seen = new Map<number, number>();
  for (let port = 1; port <= 60; port++) {
    const status = (
      await send(handler.port, `renamed.localhost:${port}`, '/auth/me', {
        headers: { 'x-forwarded-for': `192.0.2.${port}` },
      })
    ).status;
    seen.set(status, (seen.get(status) ?? 0) + 1);
  }
  assert.ok(
    (seen.get(401) ?? 0) >= 8 && (seen.get(401) ?? 0) < 30 && (seen.get(429) ?? 0) > 30,
    JSON.stringify([...seen]),
  );
  assert.equal((await handler.fetch('shop', '/auth/me')).status, 401);
});

test('a request that is none is refused, and ends nothing', async () => {
  assert.equal((await handler.fetch('shop', '/auth/me', { method: 'TRACE' })).status, 400);
  assert.equal((await send(handler.port, 'shop.localhost:99999', '/auth/me')).status, 400);
  assert.equal((await post('shop', '/auth/signin', '{', { 'transfer-encoding': 'chunked' })).status, 400);
  assert.equal((await handler.fetch('shop', '/auth/me')).status, 401);
});

test('a cookie that cannot be decoded belongs to nobody', async () => {
  assert.equal((await handler.fetch('shop', '/', { headers: { cookie: 'platform.session_token=%' } })).json(), null);
});

test('what a client stores as metadata by a native route is an object or nothing to the worker', async () => {
  const up = await post('shop', '/auth/sign-up/email', {
    email: 'odd@example.org',
    password: 'password1',
    name: 'o',
    metadata: '"text"',
  });
  const { user } = (await handler.fetch('shop', '/', { headers: { cookie: cookieOf(up) } })).json() as {
    user: { metadata: unknown };
  };
  assert.deepEqual(user.metadata, {});
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
    deliversMail: false,
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

// Sign-in for an app's visitors, over HTTP and from the worker, on the database service.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAuthRoutes } from '#runtime/engine/auth/routes.ts';
import { type Mail } from '#runtime/engine/auth/site.ts';
import { createUsers } from '#runtime/engine/auth/users.ts';
import { noStores } from '#test/setup/no-stores.ts';
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
const mails: Mail[] = [];

before(async () => {
  databases = await startDatabases();
  const users = createUsers({
    databases: databases.client,
    work,
    ...cheap,
    protocol: 'http',
    deliversMail: () => Promise.resolve(false),
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
});
after(async () => {
  await handler.close();
  await proxied.close();
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

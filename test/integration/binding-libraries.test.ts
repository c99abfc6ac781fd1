// Libraries that know the bindings of Cloudflare, unmodified, on ours: Hono with zod-openapi and better-auth over the
// database. Those for D1 that map and migrate are in database-libraries.test.ts, those for KV and R2 in
// packages-storage.test.ts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noStores } from '#test/setup/no-stores.ts';
import { startDatabases, type TestDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const openapi = `
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';

const Guest = z.object({ id: z.number(), name: z.string() }).openapi('Guest');
const Id = z.object({ id: z.coerce.number().int() });
const app = new OpenAPIHono();

app.openapi(
  createRoute({
    method: 'post', path: '/guests',
    request: { body: { content: { 'application/json': { schema: z.object({ name: z.string().min(1) }) } }, required: true } },
    responses: { 201: { description: 'Stored', content: { 'application/json': { schema: Guest } } }, 409: { description: 'Taken' } },
  }),
  async (c) => {
    try {
      return c.json(await c.env.DB.prepare('INSERT INTO guests (name) VALUES (?) RETURNING *').bind(c.req.valid('json').name).first(), 201);
    } catch (error) {
      if (/UNIQUE/.test(error.message)) return c.json({ error: 'Taken' }, 409);
      throw error;
    }
  },
);
app.openapi(
  createRoute({ method: 'get', path: '/guests/{id}', request: { params: Id }, responses: { 200: { description: 'One', content: { 'application/json': { schema: Guest } } } } }),
  async (c) => {
    const guest = await c.env.DB.prepare('SELECT * FROM guests WHERE id = ?').bind(c.req.valid('param').id).first();
    return guest === null ? c.notFound() : c.json(guest);
  },
);
app.post('/setup', async (c) => c.json(await c.env.DB.exec('CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)')));
app.doc('/openapi.json', { openapi: '3.0.0', info: { title: 'Guests', version: '1' } });
export default app;`;

const auth = `
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';

const optionsOf = (env, request) => ({
  database: env.DB, // takes the binding for what it looks like: D1
  secret: 'a secret of thirty-two characters!',
  baseURL: new URL(request.url).origin,
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
});
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const options = optionsOf(env, request);
    if (pathname === '/migrate') {
      await (await getMigrations(options)).runMigrations();
      const { results } = await env.DB.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'platform%' AND name NOT LIKE 'sqlite%' ORDER BY name").all();
      return Response.json(results.map(({ name }) => name));
    }
    const auth = betterAuth(options);
    if (pathname === '/me') return Response.json((await auth.api.getSession({ headers: request.headers }))?.user.email ?? null);
    return auth.handler(request);
  },
};`;

let databases: TestDatabases;
let handler: TestHandler;

before(async () => {
  databases = await startDatabases();
  const yaml = 'compatibility_flags: [nodejs_compat]\ndb:\n  DB: main\n';
  handler = await startHandler(
    { openapi: { files: openapi, yaml, plan: 'enterprise' }, auth: { files: auth, yaml, plan: 'enterprise' } },
    {},
    { stores: { ...noStores, database: databases.client } },
  );
});
after(async () => {
  await handler.close();
  await databases.close();
});

const json = { 'content-type': 'application/json' };

test('Hono with zod-openapi serves a table', async () => {
  await handler.fetch('openapi', '/setup', { method: 'POST' });
  const post = (body: string): ReturnType<TestHandler['fetch']> =>
    handler.fetch('openapi', '/guests', { method: 'POST', headers: json, body });
  const made = await post('{"name":"ada"}');
  assert.deepEqual([made.status, made.json()], [201, { id: 1, name: 'ada' }], made.text);
  assert.equal((await post('{"name":"ada"}')).status, 409);
  assert.equal((await post('{"name":""}')).status, 400);
  assert.deepEqual((await handler.fetch('openapi', '/guests/1')).json(), { id: 1, name: 'ada' });
  assert.equal((await handler.fetch('openapi', '/guests/2')).status, 404);
  const description = (await handler.fetch('openapi', '/openapi.json')).json() as { paths: object };
  assert.deepEqual(Object.keys(description.paths), ['/guests', '/guests/{id}']);
});

test('better-auth keeps its users in the database, and makes its tables', async () => {
  const tables = await handler.fetch('auth', '/migrate', { method: 'POST' });
  assert.deepEqual(tables.json(), ['account', 'session', 'user', 'verification'], tables.text);
  const send = (path: string, body: object): ReturnType<TestHandler['fetch']> =>
    handler.fetch('auth', path, {
      method: 'POST',
      headers: { ...json, origin: 'http://auth.localhost' },
      body: JSON.stringify(body),
    });
  const ada = { email: 'ada@example.org', password: 'correct horse', name: 'Ada' };
  const signedUp = await send('/api/auth/sign-up/email', ada);
  assert.equal(signedUp.status, 200, signedUp.text);
  assert.equal((await send('/api/auth/sign-in/email', { ...ada, password: 'wrong horse' })).status, 401);
  const signedIn = await send('/api/auth/sign-in/email', ada);
  assert.equal(signedIn.status, 200, signedIn.text);
  const cookie = [signedIn.headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ');
  assert.deepEqual((await handler.fetch('auth', '/me', { headers: { cookie } })).json(), 'ada@example.org');
  assert.equal((await handler.fetch('auth', '/me')).json(), null);
});

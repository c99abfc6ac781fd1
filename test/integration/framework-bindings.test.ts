// packages/worker on real bindings, in `platform dev`: drizzle over the database, requests counted in the state, users.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;
let dev: TestDev;

const yaml = `
db: { DB: guests }
state: { KV: counters }
auth: { binding: PLATFORM_AUTH }
`;

const worker = `
import { auth, platform, rateLimit } from '@platform-run/worker';
import { withOrm } from '@platform-run/worker/drizzle';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { z } from 'zod';

const guests = sqliteTable('guests', { id: integer('id').primaryKey(), name: text('name').notNull().unique() });
const Guest = z.object({ id: z.number(), name: z.string() });

export default platform()
  .state(withOrm('DB', { guests }))
  .get('/guests', { response: z.array(Guest) }, (ctx) => ctx.state.db.query.guests.findMany())
  .post('/guests', { body: z.object({ name: z.string() }), response: { 201: Guest } }, async (ctx) => {
    const [made] = await ctx.state.db.insert(guests).values({ name: ctx.body.name }).returning();
    return ctx.json(made, 201);
  })
  .post('/guests/pair', { body: z.array(z.string()) }, (ctx) =>
    ctx.state.db.transaction(async (tx) => {
      for (const name of ctx.body) await tx.insert(guests).values({ name });
      return { stored: (await tx.select().from(guests)).length };
    }),
  )
  .get('/apart', async (ctx) => {
    const { db } = ctx.state;
    const name = 'stored ' + Math.random();
    const undone = db.transaction(async (tx) => {
      await tx.transaction((nested) => nested.insert(guests).values({ name: 'nested' }));
      await new Promise((resolve) => setTimeout(resolve, 20));
      tx.rollback();
    }).catch((error) => error.message);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await db.insert(guests).values({ name });
    const added = (await db.select().from(guests)).map((guest) => guest.name).slice(3);
    return [await undone, added.length === 1 && added[0] === name];
  })
  .get('/keys', async (ctx) => (await ctx.env.KV.list({ prefix: 'ratelimit:' })).keys.map(({ name, expiration }) => [name.split(':').slice(0, 3).join(':'), typeof expiration]))
  .route('/limited', platform().use(rateLimit({ limit: 2, window: '1d', store: 'KV', key: () => 'everybody' })).get('/', () => 'x'))
  .route('/me', platform().use(auth()).get('/', (ctx) => ({ email: ctx.state.user.email })))
  .build();
`;

before(async () => {
  // Below the checkout's own node_modules, where zod and drizzle are.
  folder = await mkdtemp(join(root, 'node_modules/.test-'));
  const files = {
    // A repository of its own, so that what it stores lies in its folder and goes with it.
    '.git/HEAD': 'ref: refs/heads/main\n',
    'platform.yaml': yaml,
    'package.json': '{"type":"module"}',
    'src/index.ts': worker,
    'migrations/0001_guests.sql': 'CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);',
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await mkdir(join(folder, 'node_modules/@platform-run'), { recursive: true });
  await symlink(join(root, 'packages/worker'), join(folder, 'node_modules/@platform-run/worker'));
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

const post = (path: string, body: unknown): ReturnType<TestDev['fetch']> =>
  dev.fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

test('withOrm stores, queries, and takes back a transaction that fails', async () => {
  const made = await post('/guests', { name: 'ada' });
  assert.deepEqual([made.status, made.json()], [201, { id: 1, name: 'ada' }], dev.output);
  assert.deepEqual((await post('/guests/pair', ['grace', 'joan'])).json(), { stored: 3 });
  assert.equal((await post('/guests/pair', ['mary', 'ada'])).status, 500);
  assert.deepEqual((await dev.fetch('/guests')).json(), [
    { id: 1, name: 'ada' },
    { id: 2, name: 'grace' },
    { id: 3, name: 'joan' },
  ]);
});

test('transactions of withOrm nest, are given up by rollback(), and hold nothing that runs beside them', async () => {
  assert.deepEqual((await dev.fetch('/apart')).json(), ['Rollback', true], dev.output);
});

test('requests are counted in the state binding, and the counts end by themselves', async () => {
  const statuses = [];
  for (let at = 0; at < 3; at++) statuses.push((await dev.fetch('/limited')).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  assert.deepEqual((await dev.fetch('/keys')).json(), [['ratelimit:default:everybody', 'number']]);
});

test('auth knows who has signed up', async () => {
  assert.equal((await dev.fetch('/me')).status, 401);
  const signedUp = await post('/auth/signup', { email: 'ada@example.org', password: 'correct horse battery' });
  const cookie = [signedUp.headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ');
  assert.deepEqual(
    (await dev.fetch('/me', { headers: { cookie } })).json(),
    { email: 'ada@example.org' },
    signedUp.text,
  );
});

// Durable objects, as workers see them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { noStores } from '#test/setup/no-stores.ts';

const worker = `
import { DurableObject } from 'cloudflare:workers';

export class Counter extends DurableObject {
  memory = 0;
  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      this.stored = (await ctx.storage.get('count')) ?? 0;
    });
  }
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === '/throw') throw new TypeError('not today');
    if (url.pathname === '/sql') {
      const { sql } = this.ctx.storage;
      sql.exec('CREATE TABLE IF NOT EXISTS lines (id INTEGER PRIMARY KEY, text TEXT)');
      sql.exec('INSERT INTO lines (text) VALUES (?), (?)', 'one', 'two');
      return Response.json({ rows: sql.exec('SELECT id, text FROM lines ORDER BY id').toArray() });
    }
    if (url.pathname === '/echo') return new Response(await request.text() + url.search);
    this.memory++;
    this.stored++;
    this.ctx.storage.put('count', this.stored);
    return Response.json({ memory: this.memory, stored: this.stored, name: this.ctx.id.name });
  }
  async add(by, what) {
    return { sum: by + 1, what: new Map([['what', what]]) };
  }
  page() {
    return new Response('a page', { status: 201 });
  }
  async bookmarks() {
    const { storage } = this.ctx;
    const calls = [storage.getCurrentBookmark(), storage.getBookmarkForTime(0), storage.onNextSessionRestoreBookmark('')];
    return (await Promise.allSettled(calls)).map(({ reason }) => reason.message);
  }
  reset() {
    this.ctx.abort('again');
  }
  // Refused when it is committed.
  orphan() {
    const { sql } = this.ctx.storage;
    sql.exec('CREATE TABLE IF NOT EXISTS parent (id INTEGER PRIMARY KEY)');
    sql.exec('CREATE TABLE IF NOT EXISTS child (id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)');
    sql.exec('INSERT INTO child VALUES (1)');
    return 'stored';
  }
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const stub = env.COUNTER.getByName(url.searchParams.get('name') ?? 'a');
    try {
      if (url.pathname === '/add') {
        const answer = await stub.add(2, new Date(5));
        return Response.json({ sum: answer.sum, what: answer.what.get('what').getTime() });
      }
      if (url.pathname === '/call') return Response.json((await stub[url.searchParams.get('method')]()) ?? null);
      if (url.pathname === '/page') {
        const page = await stub.page();
        return Response.json([page.status, await page.text()]);
      }
      if (url.pathname === '/foreign') return new Response(String(env.COUNTER.idFromString('0'.repeat(64))));
      return await stub.fetch(request);
    } catch (error) {
      return Response.json({ name: error.name, message: error.message, code: error.code }, { status: 500 });
    }
  },
};`;

let handler: TestHandler;
let databases: Awaited<ReturnType<typeof startDatabases>>;

before(async () => {
  databases = await startDatabases();
  handler = await startHandler(
    { app: { files: worker, yaml: 'object: { COUNTER: Counter }' } },
    {},
    { stores: { ...noStores, database: databases.client } },
  );
});

after(async () => {
  await handler.close();
  await databases.close();
});

const json = async (path: string, options = {}): Promise<unknown> =>
  JSON.parse((await handler.fetch('app', path, options)).text) as unknown;

test('an object keeps what is in memory and what is stored, each name apart', async () => {
  assert.deepEqual(await json('/?name=a'), { memory: 1, stored: 1, name: 'a' });
  assert.deepEqual(await json('/?name=a'), { memory: 2, stored: 2, name: 'a' });
  assert.deepEqual(await json('/?name=b'), { memory: 1, stored: 1, name: 'b' });
});

test('what an object throws reaches the caller', async () => {
  assert.deepEqual(await json('/throw'), { name: 'TypeError', message: 'not today' });
});

test('bookmarks are refused by name', async () => {
  const why = 'is not supported: this platform has no bookmarks of durable objects. Use its backups instead';
  assert.deepEqual(await json('/call?method=bookmarks'), [
    `getCurrentBookmark ${why}`,
    `getBookmarkForTime ${why}`,
    `onNextSessionRestoreBookmark ${why}`,
  ]);
});

test('SQL runs while the caller waits', async () => {
  assert.deepEqual(await json('/sql?name=sql'), {
    rows: [
      { id: 1, text: 'one' },
      { id: 2, text: 'two' },
    ],
  });
});

test('a body and the URL reach the object', async () => {
  const { text } = await handler.fetch('app', '/echo?x=1', { method: 'POST', body: 'hello ' });
  assert.equal(text, 'hello ?x=1');
});

test('methods take and return values of any kind that can be copied', async () => {
  assert.deepEqual(await json('/add'), { sum: 3, what: 5 });
});

test('an object that is reset begins again with what is stored', async () => {
  assert.deepEqual(await json('/?name=r'), { memory: 1, stored: 1, name: 'r' });
  assert.deepEqual(await json('/call?name=r&method=reset'), { name: 'Error', message: 'again' });
  assert.deepEqual(await json('/?name=r'), { memory: 1, stored: 2, name: 'r' });
});

test('what SQL wrote and could not be committed is not acknowledged', async () => {
  const { code } = (await json('/call?name=orphan&method=orphan')) as { code: string };
  assert.equal(code, 'object_reset');
});

test('a method may return a response', async () => {
  assert.deepEqual(await json('/page'), [201, 'a page']);
});

test('an id of another class is refused', async () => {
  assert.deepEqual(await json('/foreign'), {
    name: 'TypeError',
    message: 'Durable Object ID is not valid for this namespace.',
  });
});

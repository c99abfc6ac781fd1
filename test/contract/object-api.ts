// What the API over durable objects keeps to: a part of resource-api.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '#test/setup/until.ts';
import type { AskResourceApi } from './resource-api-answer.ts';

/** Classes of the project, and `askRoom`, which calls one of them. */
export const roomClasses = `
export class Lobby {}
export class Room {
  constructor(ctx) {
    this.ctx = ctx;
    this.lines = 0;
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS line (id INTEGER PRIMARY KEY, text TEXT)');
  }
  async say(text) {
    this.ctx.storage.sql.exec('INSERT INTO line (text) VALUES (?)', text);
    this.ctx.storage.put({ last: text, long: 'x'.repeat(5000), when: new Date(0) });
    return ++this.lines;
  }
  async fill() {
    const long = 'y'.repeat(100_000);
    for (const end of ['a', 'b', 'c', 'd']) this.ctx.storage.put(long + end, end);
    this.ctx.storage.put('\u{1f600}'.repeat(900), 'smile');
    this.ctx.storage.put({ z: 'end', 'z\\0z': 'nul', ['z\\0' + '"'.repeat(1500)]: 'quotes', '{': 'brace' });
  }
  async wake() {
    await this.ctx.storage.setAlarm(8.64e15);
  }
  // A transaction that stays open while it waits.
  async hold() {
    return this.ctx.storage.transaction(async (transaction) => {
      await transaction.put('held', 1);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await transaction.put('held', 2);
      return (await transaction.get('asked')) ?? null;
    });
  }
  async spin() {
    for (;;);
  }
  alarm() {}
}
const askRoom = async (env, url) => {
  const stub = env.ROOM.getByName(url.searchParams.get('name'));
  try {
    return Response.json((await stub[url.searchParams.get('method')](url.searchParams.get('text'))) ?? null);
  } catch (error) {
    return Response.json({ error: error.message });
  }
};`;

/** Runs the cases. */
export function keepsToObjectApi(ask: AskResourceApi, fetch: (path: string) => Promise<unknown>): void {
  const at = (name: string, rest = ''): string => `/objects/ROOM/entry${rest}?object=${name}`;
  const room = (name: string, method: string, text = ''): Promise<unknown> =>
    fetch(`/room?name=${name}&method=${method}&text=${text}`);
  const values = async (name: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await ask('GET', at(name, '/values'))).body.items.map(({ key, value }: Record<string, string>) => [key, value]),
    );

  test('the objects of a class are listed with their names, and each is shown with what it stored', async () => {
    assert.deepEqual((await ask('GET', '/objects/ROOM')).body, { class: 'Room', items: [], nextCursor: null });
    for (const name of ['red', 'green', 'blue']) await room(name, 'say', name);
    await room('red', 'wake');
    const { body: listed } = await ask('GET', '/objects/Room?limit=2');
    assert.equal(listed.items.length, 2);
    const { body: rest } = await ask('GET', `/objects/ROOM?cursor=${listed.nextCursor}`);
    const all = [...listed.items, ...rest.items];
    assert.deepEqual(all.map(({ name }: { name: string }) => name).toSorted(), ['blue', 'green', 'red']);
    const red = all.find(({ name }: { name: string }) => name === 'red');
    assert.deepEqual([red.alarm, red.isLive, red.sockets], [8.64e15, true, 0]);
    assert.ok(red.bytes > 0 && red.activeAt > 0);
    const { activeAt: _at, ...shown } = (await ask('GET', at('red'))).body;
    const { activeAt: _other, ...known } = red;
    assert.deepEqual(shown, known);
    assert.equal((await ask('GET', at(red.id))).body.name, 'red');
    assert.deepEqual((await ask('GET', '/objects/LOBBY')).body.items, []);
    assert.equal((await ask('GET', at('none'))).status, 404);
    assert.equal((await ask('GET', '/objects/NONE')).status, 400);
    const { items } = (await ask('GET', `${at('red', '/values')}&limit=2`)).body;
    assert.deepEqual(items[0], { key: 'last', isKeyCut: false, size: 5, value: '"red"', isCut: false });
    assert.deepEqual([items[1].key, items[1].size, items[1].value.length, items[1].isCut], ['long', 5002, 4000, true]);
    assert.deepEqual(Object.keys(await values('red')), ['last', 'long', 'when']);
    assert.deepEqual((await ask('GET', `${at('red', '/values')}&prefix=w`)).body.items.length, 1);
  });

  test('keys of any length are listed page by page, cut where they are long', async () => {
    await room('full', 'fill');
    const seen: [string, boolean, string][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await ask('GET', `${at('full', '/values')}&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      assert.equal(page.status, 200, JSON.stringify(page.body));
      for (const { key, isKeyCut, value } of page.body.items) seen.push([key.slice(0, 3), isKeyCut, value]);
      cursor = page.body.nextCursor;
    }
    assert.deepEqual(seen, [
      ['yyy', true, '"a"'],
      ['yyy', true, '"b"'],
      ['yyy', true, '"c"'],
      ['yyy', true, '"d"'],
      ['z', false, '"end"'],
      ['z\0"', false, '"quotes"'],
      ['z\0z', false, '"nul"'],
      ['{', false, '"brace"'],
      ['\u{1f600}\ud83d', true, '"smile"'],
    ]);
    const two = (await ask('GET', `${at('full', '/values')}&limit=2`)).body;
    const next = (await ask('GET', `${at('full', '/values')}&limit=3&cursor=${two.nextCursor}`)).body;
    assert.deepEqual(
      next.items.map(({ value }: { value: string }) => value),
      ['"c"', '"d"', '"end"'],
    );
    assert.equal((await ask('GET', `${at('full', '/values')}&cursor=bm8`)).status, 400);
  });

  test('SQL of an object reads, and writes where that is asked for', async () => {
    const read = await ask('POST', at('red', '/query'), { sql: 'SELECT text FROM line' });
    assert.deepEqual([read.status, read.body.columns, read.body.rows], [200, ['text'], [['red']]]);
    const refused = await ask('POST', at('red', '/query'), { sql: "INSERT INTO line (text) VALUES ('x')" });
    assert.deepEqual([refused.status, /writes/.test(refused.body.message)], [400, true]);
    const hidden = await ask('POST', at('red', '/query'), { sql: 'SELECT * FROM platform_internal_object_values' });
    assert.equal(hidden.status, 400);
    const written = await ask('POST', at('red', '/sql'), { sql: "INSERT INTO line (text) VALUES ('x'), ('y')" });
    assert.deepEqual([written.status, written.body.rowsWritten], [200, 2]);
    const wrong = await ask('POST', at('red', '/sql'), { sql: 'DELETE FROM line; SELECT * FROM missing' });
    assert.deepEqual([wrong.status, /no such table/.test(wrong.body.message)], [400, true]);
    const count = await ask('POST', at('red', '/query'), { sql: 'SELECT count(*) FROM line' });
    assert.deepEqual(count.body.rows, [[3]]);
  });

  test('an operator waits for the end of the transaction of an object', async () => {
    await room('holder', 'say', 'first');
    const held = room('holder', 'hold');
    await until(async () => (await ask('GET', at('holder'))).body.isLive);
    await ask('POST', at('holder', '/sql'), { sql: 'CREATE TABLE other (id INTEGER)' });
    await held;
    assert.equal((await values('holder'))['held'], '2');
  });

  test('a reset makes a new instance, also of one that never ends, and what is stored stays', async () => {
    await room('green', 'say', 'again');
    assert.deepEqual((await ask('POST', at('green', '/reset'))).body, { reset: true });
    assert.equal((await ask('GET', at('green'))).body.isLive, false);
    assert.deepEqual((await ask('POST', at('green', '/reset'))).body, { reset: false });
    await room('green', 'say', 'more');
    const count = await ask('POST', at('green', '/query'), { sql: 'SELECT count(*) FROM line' });
    assert.deepEqual(count.body.rows, [[3]]);
    const spinning = room('blue', 'spin');
    await until(async () => (await ask('GET', at('blue'))).body.isLive);
    await ask('POST', at('blue', '/reset'));
    await spinning;
  });

  test('a deleted object has nothing and rings no more; its name can be used again', async () => {
    assert.equal((await ask('DELETE', at('red'))).status, 204);
    assert.equal((await ask('GET', at('red'))).status, 404);
    assert.equal((await ask('DELETE', at('red'))).status, 404);
    const { items } = (await ask('GET', '/objects/ROOM')).body;
    assert.ok(!items.some(({ name }: { name: string }) => name === 'red'));
    await room('red', 'say', 'new');
    assert.deepEqual((await ask('POST', at('red', '/query'), { sql: 'SELECT text FROM line' })).body.rows, [['new']]);
    assert.equal((await ask('GET', at('red'))).body.alarm, null);
  });
}

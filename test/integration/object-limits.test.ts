// The bounds of durable objects: what goes over them ends with its object, and nothing else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { startDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { noStores } from '#test/setup/no-stores.ts';

const worker = `
import { DurableObject, RpcTarget } from 'cloudflare:workers';

function burn(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until) for (let at = 0; at < 1e5; at++);
}
class Desk extends RpcTarget {
  #kept = 0;
  work(ms) {
    burn(ms);
    return ++this.#kept;
  }
}
export class Counter extends DurableObject {
  memory = 0;
  async next() {
    const stored = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    this.ctx.storage.put('count', stored);
    return { memory: ++this.memory, stored };
  }
  circle() {
    return this.env.COUNTER.getByName(this.ctx.id.name + '.').circle();
  }
  async fill() {
    const text = 'x'.repeat(600_000);
    for (let at = 0; ; at++) {
      this.ctx.storage.put('key-' + at, text);
      await this.ctx.storage.sync();
    }
  }
  endless() {
    this.ctx.storage.kv.put('unfinished', 1);
    this.ctx.storage.sql.exec('WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT 1 FROM c) SELECT count(*) FROM c');
  }
  unfinished() {
    return this.ctx.storage.get('unfinished');
  }
  spin() {
    for (;;);
  }
  desk() {
    return new Desk();
  }
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    try {
      if (pathname === '/work') {
        using desk = await env.COUNTER.getByName(searchParams.get('name')).desk();
        const done = [];
        for (const ms of searchParams.get('ms').split(',')) done.push(await desk.work(Number(ms)));
        return Response.json(done);
      }
      return Response.json((await env.COUNTER.getByName(searchParams.get('name'))[pathname.slice(1)]()) ?? null);
    } catch (error) {
      return Response.json({ message: error.message, code: error.code }, { status: 500 });
    }
  },
};`;

let handler: TestHandler;
let databases: Awaited<ReturnType<typeof startDatabases>>;

before(async () => {
  databases = await startDatabases({ objectBytesMax: 2_000_000, sharedStatementMs: 200, statementMs: 400 });
  handler = await startHandler(
    { app: { files: worker, yaml: 'object: { COUNTER: Counter }' } },
    { cpu: { ...defaultLimits.cpu, http: { free: 200, pro: 200, enterprise: 200 } } },
    { stores: { ...noStores, database: databases.client } },
  );
});

after(async () => {
  await handler.close();
  await databases.close();
});

const json = async (path: string): Promise<unknown> => JSON.parse((await handler.fetch('app', path)).text) as unknown;

test('an object that spins ends its isolate, and no request of the site', async () => {
  assert.deepEqual(await json('/next?name=s'), { memory: 1, stored: 1 });
  const { code } = (await json('/spin?name=s')) as { code: string };
  assert.equal(code, 'cpu_limit_exceeded');
  assert.deepEqual(await json('/next?name=s'), { memory: 1, stored: 2 });
});

test('each call of a stub that an object returned is an event with a budget of its own', async () => {
  assert.deepEqual(await json('/work?name=w&ms=70,70,70,70'), [1, 2, 3, 4]);
  const { code } = (await json('/work?name=w&ms=1,100000')) as { code: string };
  assert.equal(code, 'cpu_limit_exceeded');
});

test('objects that call each other in a circle end at the depth of calls', async () => {
  const { code } = (await json('/circle?name=circle')) as { code: string };
  assert.equal(code, 'loop_detected');
});

test('an object at the bound of its storage begins again, and keeps what was stored before', async () => {
  assert.deepEqual(await json('/next?name=full'), { memory: 1, stored: 1 });
  const { code, message } = (await json('/fill?name=full')) as { code: string; message: string };
  assert.equal(code, 'object_reset');
  assert.match(message, /database or disk is full/);
  assert.deepEqual(await json('/next?name=full'), { memory: 1, stored: 2 });
});

test('a statement without end is ended, and with it what the event had not stored', async () => {
  assert.deepEqual(await json('/next?name=endless'), { memory: 1, stored: 1 });
  const { code } = (await json('/endless?name=endless')) as { code: string };
  assert.equal(code, 'object_reset');
  assert.equal(await json('/unfinished?name=endless'), null);
  assert.deepEqual(await json('/next?name=endless'), { memory: 1, stored: 2 });
});

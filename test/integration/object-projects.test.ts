// Durable objects of another project: one instance for both, charged to the project that has the class.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startDatabases } from '#test/setup/databases.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { noStores } from '#test/setup/no-stores.ts';

const rooms = `
import { DurableObject, RpcTarget } from 'cloudflare:workers';
class Door extends RpcTarget {
  knock(callback) { return callback('who'); }
}
export class Room extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return { count, secret: this.env.SECRET ?? null };
  }
  door() { return new Door(); }
  fetch(request) { return new Response('room ' + new URL(request.url).pathname); }
}
export class Hidden extends DurableObject {
  add() { return 'hidden'; }
}
export default {
  async fetch(request, env) {
    return Response.json(await env.ROOM.getByName('lobby').add());
  },
};`;

const caller = `
import { DurableObject } from 'cloudflare:workers';
export class Room extends DurableObject {
  add() { return 'of the caller'; }
}
export default {
  async fetch(request, env) {
    const [, binding, what = 'add'] = new URL(request.url).pathname.split('/');
    try {
      if (what === 'id') return Response.json(String(env[binding].idFromName('lobby')));
      const room = env[binding].getByName('lobby');
      if (what === 'door') return Response.json(await room.door().knock((text) => text + '?'));
      if (what === 'fetch') return new Response(await (await room.fetch('http://x/page')).text());
      if (what === 'forged') return Response.json(await env[binding].get(env.OWN.idFromName('lobby')).add());
      return Response.json(await room.add());
    } catch (error) {
      return Response.json({ name: error.name, code: error.code ?? null });
    }
  },
};`;

let handler: TestHandler;
let databases: Awaited<ReturnType<typeof startDatabases>>;
const owner = { organization: 'o1', project: 'p1' };

before(async () => {
  databases = await startDatabases();
  handler = await startHandler(
    {
      rooms: {
        files: rooms,
        yaml: 'object: { ROOM: Room }\nobject_classes: { renamed: { Chamber: Room } }\n',
        owner,
        vars: { SECRET: 'of rooms' },
      },
      caller: {
        files: caller,
        yaml:
          'object: { OWN: Room, ROOM: { class: Room, project: rooms }, HIDDEN: { class: Hidden, project: rooms }, FORMER: { class: Chamber, project: rooms }, ' +
          'GONE: { class: Room, project: gone }, FOREIGN: { class: Room, project: foreign } }\n',
        owner: { ...owner, project: 'p2' },
      },
      foreign: { files: rooms, yaml: 'object: { ROOM: Room }\n', owner: { organization: 'o2', project: 'p3' } },
    },
    {},
    { stores: { ...noStores, database: databases.client } },
  );
});
after(async () => {
  await handler.close();
  await databases.close();
});

const ask = async (project: string, path: string): Promise<unknown> => {
  const { text } = await handler.fetch(project, path);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

test('two projects reach the same object, which has the variables of its own project', async () => {
  assert.deepEqual(await ask('rooms', '/'), { count: 1, secret: 'of rooms' });
  assert.deepEqual(await ask('caller', '/ROOM'), { count: 2, secret: 'of rooms' });
  assert.equal(await ask('caller', '/ROOM/door'), 'who?');
  assert.equal(await ask('caller', '/ROOM/fetch'), 'room /page');
});

test('the event is one of the project that has the class', () => {
  const events = handler.requests.filter(({ kind }) => kind === 'object');
  assert.ok(events.length >= 4);
  assert.deepEqual(new Set(events.map(({ project }) => project)), new Set(['rooms']));
});

test('a class of the same name in the own project has other objects', async () => {
  assert.equal(await ask('caller', '/OWN'), 'of the caller');
  assert.notEqual(await ask('caller', '/OWN/id'), await ask('caller', '/ROOM/id'));
  assert.equal(((await ask('caller', '/ROOM/forged')) as { name: string }).name, 'TypeError');
});

test('a class that the other project has renamed is reached under both names', async () => {
  assert.equal(await ask('caller', '/FORMER/id'), await ask('caller', '/ROOM/id'));
  assert.deepEqual(await ask('caller', '/FORMER'), { count: 3, secret: 'of rooms' });
});

test('a class that the other project does not declare, a missing project and one of others are refused', async () => {
  assert.equal(((await ask('caller', '/HIDDEN')) as { code: string }).code, 'service_failed');
  assert.equal(((await ask('caller', '/GONE')) as { code: string }).code, 'service_not_found');
  assert.equal(((await ask('caller', '/FOREIGN')) as { code: string }).code, 'service_not_found');
});

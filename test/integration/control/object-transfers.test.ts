// Classes of durable objects that move from one project to another: who has to agree, and that ids, stored values,
// alarms and WebSockets are the same before and after.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { deployed, plain } from '#test/setup/object-classes.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startReleaseControl, type DeployedSource, type ReleaseControl } from '#test/setup/release-control.ts';
import { until } from '#test/setup/until.ts';

let all: ReleaseControl;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
before(async () => {
  // Alarms are timers of the broker.
  database = await createTestDatabase();
  all = await startReleaseControl({}, {}, { postgres: database });
});
after(async () => {
  await all.close();
  await database.close();
});

/** A worker with a class of objects, and a binding of it. */
const worker = (name: string, owner: string, yaml: string): DeployedSource => ({
  code: `
import { DurableObject } from 'cloudflare:workers';
export class ${name} extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return '${name} of ${owner} ' + count;
  }
  async wait() {
    await this.ctx.storage.setAlarm(Date.now() + 3600_000);
    return 'waits';
  }
  async due() {
    await this.ctx.storage.setAlarm(Date.now());
    return 'due';
  }
  async alarm() { await this.ctx.storage.put('rung', '${name} of ${owner}'); }
  async rung() { return [await this.ctx.storage.get('rung') ?? null, await this.ctx.storage.getAlarm() !== null].join(' '); }
  fetch() {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) { socket.send('${name} of ${owner}: ' + message); }
}
export default {
  async fetch(request, env) {
    const [, name, method = 'add'] = new URL(request.url).pathname.split('/');
    try {
      const object = env.ROOM.getByName(name);
      if (request.headers.get('upgrade') !== null) return await object.fetch(request);
      if (method === 'id') return new Response(String(env.ROOM.idFromName(name)));
      return new Response(await object[method]());
    } catch (error) {
      return new Response(error.code + ': ' + error.message);
    }
  },
};`,
  yaml,
});

const says = async (host: string, path = '/a'): Promise<string> => (await all.platform.fetch(host, path)).text;
const rooms = worker('Room', 'rooms', 'object: { ROOM: Room }\n');
const given = (other: string): DeployedSource => ({
  ...worker('Unused', 'rooms', ''),
  yaml:
    `object: { ROOM: { class: Hall, project: ${other} } }\n` +
    `object_classes: { transferred: { Room: { project: ${other}, class: Hall } } }\n`,
});
const taking = (from: string): DeployedSource =>
  worker(
    'Hall',
    'shop',
    `object: { ROOM: Hall }\nobject_classes: { received: { Hall: { project: ${from}, class: Room } } }\n`,
  );

test('objects move at the promotion of the project that transfers them, with ids, values, alarms and sockets', async () => {
  const [from, to] = [await all.project('rooms'), await all.project('shop')];
  const first = await deployed(all, from, rooms);
  assert.equal(await says('rooms'), 'Room of rooms 1');
  assert.equal(await says('rooms', '/a/wait'), 'waits');
  const id = await says('rooms', '/a/id');
  const socket = new WebSocket(`ws://127.0.0.1:${all.platform.port}/a`, { headers: { host: 'rooms.localhost' } });
  await once(socket, 'open');
  const closed = once(socket, 'close').then(([code, reason]) => `closed: ${code} ${reason}`);
  const echo = async (): Promise<string> => {
    socket.send('hello');
    return String(await Promise.race([once(socket, 'message').then(([data]) => data as Buffer), closed]));
  };
  assert.equal(await echo(), 'Room of rooms: hello');

  const early = await all.deploy(from, given('shop'));
  assert.equal(early.status, 'failure');
  assert.equal(
    early.error_message,
    'The class Room is transferred to shop, whose production does not receive it. First deploy shop with ' +
      'object_classes: { received: { Hall: { project: rooms, class: Room } } } in its platform.yaml.',
  );
  await deployed(all, to, taking('rooms'));
  assert.equal(
    await says('shop'),
    'service_failed: The call of rooms failed: it has not transferred its class Room to shop',
  );
  assert.equal(await says('rooms'), 'Room of rooms 2');

  const guarded = await all.deploy(from, {
    ...given('shop'),
    yaml: `${given('shop').yaml}release: { steps: [1, 100], minutes: 240 }\n`,
  });
  assert.match(guarded.error_message!, /A guarded release cannot transfer the class Room/);
  await deployed(all, from, given('shop'));
  assert.equal(await says('shop'), 'Hall of shop 3');
  assert.equal(await says('rooms'), 'Hall of shop 4');
  assert.equal(await says('shop', '/a/id'), id);
  assert.equal(await says('shop', '/a/rung'), ' true');
  assert.equal(await echo(), 'Hall of shop: hello');
  const { body } = await all.control.call('GET', `/projects/${to}/objects/ROOM`);
  assert.deepEqual(
    body.items.map((item: { id: string; name: string; sockets: number }) => [item.id, item.name, item.sockets]),
    [[id, 'a', 1]],
  );

  assert.equal(await says('rooms', '/a/due'), 'due');
  await until(async () => (await says('shop', '/a/rung')) === 'Hall of shop false');
  const value = await all.control.call('GET', `/projects/${to}/objects/ROOM/entry/values?object=a`);
  assert.equal(value.body.items.find(({ key }: { key: string }) => key === 'count').value, '4');

  const preview = await deployed(all, to, taking('rooms'), 'next');
  assert.notEqual(preview, null);
  const lost = await all.deploy(to, plain);
  assert.match(lost.error_message!, /^The class Hall has the objects that rooms transferred/);
  const gone = await all.control.call('DELETE', `/projects/${from}?name=rooms`);
  assert.deepEqual(
    [gone.status, gone.body.message],
    [409, 'It stores durable objects that it transferred to shop: delete shop first, or keep both'],
  );
  assert.match((await all.deploy(from, plain)).error_message!, /Production has durable objects of the class Room/);

  const back = await all.control.call('POST', `/projects/${from}/rollback`, { deploymentId: first });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.equal(await says('rooms'), 'Room of rooms 5');
  assert.equal(await echo(), 'Room of rooms: hello');
  assert.match(await says('shop'), /has not transferred/);
  await deployed(all, to, plain);
  socket.terminate();
});

test('a class that would hide objects of its own is refused', async () => {
  const [from, to] = [await all.project('halls'), await all.project('market')];
  await deployed(all, from, rooms);
  await deployed(all, to, worker('Hall', 'market', 'object: { ROOM: Hall }\n'));
  assert.equal(await says('market'), 'Hall of market 1');
  const refused = await all.deploy(to, taking('halls'));
  assert.equal(
    refused.error_message,
    'Production has durable objects of its own of the class Hall, but platform.yaml lets it receive those of another ' +
      'project. Give the class of "object_classes.received" another name.',
  );
});

// Renamed and deleted classes of durable objects, over a supervisor with two engines that are processes.
import '#test/setup/over-processes.ts';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { counter, deployed, plain } from '#test/setup/object-classes.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startReleaseControl, type ReleaseControl } from '#test/setup/release-control.ts';
import { until } from '#test/setup/until.ts';

let all: ReleaseControl;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
before(async () => {
  // Which engine has an object is known to both.
  database = await createTestDatabase();
  all = await startReleaseControl({}, {}, { engines: 2, postgres: database });
});
after(async () => {
  await all.close();
  await database.close();
});

const says = async (host: string, path = '/a'): Promise<string> => (await all.platform.fetch(host, path)).text;

test('a kept WebSocket wakes the renamed class, and is closed when its class is deleted', async () => {
  const id = await all.project('sockets');
  await deployed(all, id, counter('Room'));
  const socket = new WebSocket(`ws://127.0.0.1:${all.platform.port}/`, { headers: { host: 'sockets.localhost' } });
  await once(socket, 'open');
  const echo = async (): Promise<string> => {
    socket.send('hello');
    return String(((await once(socket, 'message')) as [Buffer])[0]);
  };
  assert.equal(await echo(), 'Room: hello');
  await deployed(all, id, counter('Hall', 'object_classes: { renamed: { Room: Hall } }\n'));
  assert.equal(await echo(), 'Hall: hello');
  const closed = once(socket, 'close') as Promise<[number, Buffer]>;
  await deployed(all, id, { ...plain, yaml: 'object_classes: { renamed: { Room: Hall }, deleted: [Hall] }\n' });
  const [code, reason] = await closed;
  assert.deepEqual([code, String(reason)], [1001, 'Deleted']);
});

test('a guarded release deletes nothing until it is production', async () => {
  const id = await all.project('guarded');
  await deployed(all, id, counter('Room'));
  assert.match(await says('guarded'), /^Room 1 /);
  const names = async (): Promise<string[]> => {
    const { body } = await all.control.call('GET', `/projects/${id}/objects/Room`);
    return body.items.map(({ name }: { name: string }) => name);
  };
  const yaml = 'object_classes: { deleted: [Room] }\nrelease: { steps: [1, 100], minutes: 240 }\n';
  await deployed(all, id, { ...plain, yaml });
  assert.deepEqual(await names(), ['/a']);
  assert.equal((await all.control.call('POST', `/projects/${id}/rollback`, {})).status, 200);
  assert.deepEqual(await names(), ['/a']);
  const second = await deployed(all, id, { ...plain, yaml: `${yaml}ai: false\n` });
  assert.deepEqual(await names(), ['/a']);
  const promoted = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: second, now: true });
  assert.equal(promoted.status, 200, JSON.stringify(promoted.body));
  await until(async () => (await all.log(second)).includes('release Deleted 1 durable object of the class Room'));
});

test('classes of a production whose artifact is lost are known, and a deployment mends it', async () => {
  const id = await all.project('mended');
  await deployed(all, id, counter('Room'));
  assert.match(await says('mended'), /^Room 1 /);
  const [{ artifact }] = await all.control.sql<[{ artifact: string }]>`
    SELECT d.artifact FROM control.project p JOIN control.deployment d ON d.id = p.production_deployment_id
    WHERE p.id = ${id}`;
  rmSync(path.join(all.platform.folder, 'artifacts', artifact), { recursive: true });
  assert.match((await all.deploy(id, plain)).error_message!, /durable objects of the class Room/);
  await deployed(all, id, counter('Hall', 'object_classes: { renamed: { Room: Hall } }\n'));
  assert.match(await says('mended'), /^Hall 2 /);
});

// Deployments that rename, delete or forget classes of durable objects: what production holds is found under the new
// name, deleted when that is said, and never lost.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '#test/setup/until.ts';
import { startReleaseControl, type DeployedSource, type ReleaseControl } from '#test/setup/release-control.ts';

let all: ReleaseControl;
before(async () => {
  all = await startReleaseControl({}, {}, { engines: 2 });
});
after(() => all.close());

/** A worker that adds to the count of an object, named by the path. */
function counter(name: string, classes = ''): DeployedSource {
  return {
    code: `
import { DurableObject } from 'cloudflare:workers';
export class ${name} extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return '${name} ' + count;
  }
  fetch() {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) {
    socket.send('${name}: ' + message);
  }
}
export default {
  async fetch(request, env) {
    if (request.headers.get('upgrade') !== null) return env.COUNT.getByName('socket').fetch(request);
    const id = env.COUNT.idFromName(new URL(request.url).pathname);
    return new Response((await env.COUNT.get(id).add()) + ' ' + String(id).slice(0, 8));
  },
};`,
    yaml: `object: { COUNT: ${name} }\n${classes}`,
  };
}

const plain: DeployedSource = { code: 'export default { fetch: () => new Response("no objects") };' };
const says = async (host: string, path = '/a'): Promise<string> => (await all.platform.fetch(host, path)).text;

async function deployed(project: string, source: DeployedSource, branch?: string): Promise<string> {
  const made = await all.deploy(project, source, branch);
  assert.equal(made.status, 'success', `${made.reason}: ${made.error_message}`);
  return made.id;
}

test('a deployment without a class that has objects fails before anything moves', async () => {
  const id = await all.project('forgets');
  await deployed(id, counter('Room'));
  // Without an object, nothing is lost.
  await deployed(id, plain);
  await deployed(id, counter('Room'));
  const first = await says('forgets');
  assert.match(first, /^Room 1 /);
  const refused = await all.deploy(id, plain);
  assert.deepEqual([refused.status, refused.reason], ['failure', 'artifact_invalid']);
  assert.equal(
    refused.error_message,
    'Production has durable objects of the class Room, such as "/a", but this deployment has no such class. Put the class ' +
      'back into "object" in platform.yaml, or add to "object_classes" either renamed: { Room: NewName } or ' +
      'deleted: [Room], which deletes these objects.',
  );
  const renamed = await all.deploy(id, counter('Hall'));
  assert.equal(renamed.status, 'failure');
  assert.equal(await says('forgets'), first.replace('1', '2'));
  const preview = await deployed(id, plain, 'next');
  assert.match((await all.log(preview)).join('\n'), /It cannot become production\. Production has durable objects/);
  const { body } = await all.control.call('GET', `/deployments/${preview}/promotion`);
  assert.match(body.objection, /^Production has durable objects of the class Room/);
  const promoted = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: preview });
  assert.deepEqual([promoted.status, /of the class Room/.test(promoted.body.message)], [422, true]);
  assert.equal(await says('forgets'), first.replace('1', '3'));
});

test('objects of a renamed class are the same under each of its names, also after a rollback', async () => {
  const id = await all.project('renames');
  await deployed(id, counter('Room'));
  const [, , key] = (await says('renames')).split(' ');
  await deployed(id, counter('Hall', 'object_classes: { renamed: { Room: Hall } }\n'));
  assert.equal(await says('renames'), `Hall 2 ${key}`);
  await deployed(id, counter('Den', 'object_classes: { renamed: { Room: Hall, Hall: Den } }\n'));
  assert.equal(await says('renames'), `Den 3 ${key}`);
  const { body } = await all.control.call('GET', `/projects/${id}/objects/COUNT`);
  assert.deepEqual([body.class, body.items.map(({ name }: { name: string }) => name)], ['Den', ['/a']]);
  const entry = await all.control.call('GET', `/projects/${id}/objects/Den/entry/values?object=%2Fa`);
  assert.deepEqual(entry.body.items[0].value, '3');
  const lost = await all.deploy(id, counter('Den'));
  assert.equal(lost.status, 'failure');
  assert.match(lost.error_message!, /class Den \(first named Room\).*renamed: \{ Room: NewName \}/);
  const back = await all.control.call('POST', `/projects/${id}/rollback`, {});
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.equal(await says('renames'), `Hall 4 ${key}`);
});

test('a kept WebSocket wakes the renamed class, and is closed when its class is deleted', async () => {
  const id = await all.project('sockets');
  await deployed(id, counter('Room'));
  const socket = new WebSocket(`ws://127.0.0.1:${all.platform.port}/`, { headers: { host: 'sockets.localhost' } });
  await once(socket, 'open');
  const echo = async (): Promise<string> => {
    socket.send('hello');
    return String(((await once(socket, 'message')) as [Buffer])[0]);
  };
  assert.equal(await echo(), 'Room: hello');
  await deployed(id, counter('Hall', 'object_classes: { renamed: { Room: Hall } }\n'));
  assert.equal(await echo(), 'Hall: hello');
  const closed = once(socket, 'close') as Promise<[number, Buffer]>;
  await deployed(id, { ...plain, yaml: 'object_classes: { renamed: { Room: Hall }, deleted: [Hall] }\n' });
  const [code, reason] = await closed;
  assert.deepEqual([code, String(reason)], [1001, 'Deleted']);
});

test('objects of a deleted class go when the deployment becomes production, not before', async () => {
  const id = await all.project('deletes');
  const first = await deployed(id, counter('Room'));
  assert.match(await says('deletes'), /^Room 1 /);
  assert.match(await says('deletes', '/b'), /^Room 1 /);
  const gone = { ...plain, yaml: 'object_classes: { deleted: [Room] }\n' };
  const broken = await all.deploy(id, { ...gone, code: 'throw new Error("at its top");' });
  assert.equal(broken.status, 'failure');
  await deployed(id, gone, 'next');
  assert.match(await says('deletes'), /^Room 2 /);
  const second = await deployed(id, gone);
  await until(async () =>
    (await all.log(second)).includes('release Deleted 2 durable objects of the class Room') ? true : null,
  );
  const back = await all.control.call('POST', `/projects/${id}/rollback`, { deploymentId: first });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  assert.match(await says('deletes'), /^Room 1 /);
  // The deletion was of that release: going back to it deletes nothing.
  const again = await all.control.call('POST', `/projects/${id}/promote`, { deploymentId: first });
  assert.equal(again.status, 200);
  assert.match(await says('deletes'), /^Room 2 /);
  assert.equal((await all.deploy(id, plain)).status, 'failure');
});

test('classes of a production whose artifact is lost are known, and a deployment mends it', async () => {
  const id = await all.project('mended');
  await deployed(id, counter('Room'));
  assert.match(await says('mended'), /^Room 1 /);
  const [{ artifact }] = await all.control.sql<[{ artifact: string }]>`
    SELECT d.artifact FROM control.project p JOIN control.deployment d ON d.id = p.production_deployment_id
    WHERE p.id = ${id}`;
  rmSync(path.join(all.platform.folder, 'artifacts', artifact), { recursive: true });
  assert.match((await all.deploy(id, plain)).error_message!, /durable objects of the class Room/);
  await deployed(id, counter('Hall', 'object_classes: { renamed: { Room: Hall } }\n'));
  assert.match(await says('mended'), /^Hall 2 /);
});

// Durable objects in `platform dev`: kept over a restart and a save, with alarms.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { startDevHere, type TestDev } from '#test/setup/dev.ts';
import { until } from '#test/setup/until.ts';

const worker = (version: number): string => `
import { DurableObject, RpcTarget } from 'cloudflare:workers';
class Hands extends RpcTarget {
  #clock;
  constructor(clock) { super(); this.#clock = clock; }
  turn() { this.#clock.turned++; }
}
export class Clock extends DurableObject {
  async next() {
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    this.ctx.storage.put('count', count);
    return { count, version: ${version} };
  }
  async wind() {
    await this.ctx.storage.setAlarm(Date.now() + 1);
    return this.ctx.storage.getAlarm();
  }
  async alarm({ retryCount }) {
    const tries = ((await this.ctx.storage.get('tries')) ?? 0) + 1;
    await this.ctx.storage.put('tries', tries);
    this.inside = await this.ctx.storage.getAlarm();
    await this.ctx.storage.put('rang', { tries, retryCount, inside: this.inside });
  }
  rang() { return this.ctx.storage.get('rang'); }
  turned = 0;
  hands() { return new Hands(this); }
  turns() { return this.turned; }
  fetch() {
    setTimeout(() => {}, 30_000);
    return Response.json(${version});
  }
  left() { return this.ctx.storage.getAlarm(); }
}
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === '/hold') {
      const hands = await env.CLOCK.getByName('tower').hands();
      try {
        for (;;) {
          await hands.turn();
          await scheduler.wait(5);
        }
      } catch (error) {
        return Response.json([error.code, error.retryable, error.remote]);
      }
    }
    if (new URL(request.url).pathname === '/late') return env.CLOCK.getByName('late').fetch(request);
    return Response.json((await env.CLOCK.getByName('tower')[new URL(request.url).pathname.slice(1)]()) ?? null);
  },
};`;

const room = (version: string): string => `
export class Clock {
  constructor(ctx) { this.ctx = ctx; }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    server.serializeAttachment('ada');
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) {
    socket.send('${version}: ' + message + ' to ' + socket.deserializeAttachment());
  }
}
export default {
  fetch: (request, env) =>
    request.headers.get('upgrade') === null ? new Response('${version}') : env.CLOCK.getByName('room').fetch(request),
};`;

let folder: string;
let dev: TestDev;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'platform-dev-'));
  await mkdir(join(folder, 'src'));
  await writeFile(join(folder, 'platform.yaml'), 'object: { CLOCK: Clock }\n');
  await writeFile(join(folder, 'src/index.js'), worker(1));
  dev = await startDevHere(folder);
});
after(async () => {
  await dev.close();
  await rm(folder, { recursive: true, force: true });
});

const ask = async (path: string): Promise<unknown> => (await dev.fetch(path)).json();

test('an alarm rings once, and what is stored is there after a restart', async () => {
  assert.deepEqual(await ask('/next'), { count: 1, version: 1 });
  assert.equal(typeof (await ask('/wind')), 'number');
  assert.deepEqual(await until(() => ask('/rang')), { tries: 1, retryCount: 0, inside: null });
  assert.equal(await ask('/left'), null);
  await dev.close();
  dev = await startDevHere(folder);
  assert.deepEqual(await ask('/next'), { count: 2, version: 1 });
  assert.deepEqual(await ask('/rang'), { tries: 1, retryCount: 0, inside: null });
});

test('a save gives an object to the new code at its next event, though a caller holds a stub', async () => {
  assert.deepEqual(await ask('/next'), { count: 3, version: 1 });
  const held = ask('/hold');
  await until(async () => ((await ask('/turns')) as number) > 0);
  await writeFile(join(folder, 'src/index.js'), worker(2));
  await until(async () => ((await ask('/next')) as { version: number }).version === 2);
  const { count } = (await ask('/next')) as { count: number };
  assert.ok(count > 4);
  assert.deepEqual(await held, ['object_reset', true, true]);
});

test('a save gives an object to the new code at its next event, though its old code still has a timer', async () => {
  assert.equal(await ask('/late'), 2);
  await writeFile(join(folder, 'src/index.js'), worker(3));
  await until(async () => ((await ask('/next')) as { version: number }).version === 3);
  const startedAt = performance.now();
  assert.equal(await ask('/late'), 3);
  assert.ok(performance.now() - startedAt < 10_000);
});

test('a save keeps the sockets of an object, whose next message wakes the new code', async () => {
  await writeFile(join(folder, 'src/index.js'), room('first'));
  await until(async () => (await dev.fetch('/version')).text === 'first');
  const socket = new WebSocket(`ws://127.0.0.1:${dev.port}/`);
  const next = async (): Promise<string> => String(((await once(socket, 'message')) as [Buffer])[0]);
  await once(socket, 'open');
  socket.send('hello');
  assert.equal(await next(), 'first: hello to ada');
  await writeFile(join(folder, 'src/index.js'), room('second'));
  await until(async () => (await dev.fetch('/version')).text === 'second');
  socket.send('hello');
  assert.equal(await next(), 'second: hello to ada');
  socket.close();
  await once(socket, 'close');
});

test('a class that disappears while objects of it exist is named, and one that is renamed keeps them', async () => {
  await writeFile(join(folder, 'platform.yaml'), 'state: { KV: kept }\n');
  await writeFile(join(folder, 'src/index.js'), 'export default { fetch: () => new Response("plain") };');
  await dev.printed(
    /There are durable objects of the class Clock, such as "tower", but the worker has no such class any more\. A deployment to production would fail\. .*renamed: \{ Clock: NewName \}/,
  );
  await writeFile(
    join(folder, 'platform.yaml'),
    'object: { CLOCK: Watch }\nobject_classes: { renamed: { Clock: Watch } }\n',
  );
  await writeFile(join(folder, 'src/index.js'), worker(3).replace('class Clock', 'class Watch'));
  await until(async () => (await dev.fetch('/next')).text.includes('count'));
  const { count, version } = (await ask('/next')) as { count: number; version: number };
  assert.deepEqual([count > 5, version], [true, 3]);
  assert.equal(typeof (await ask('/wind')), 'number');
  assert.equal(((await until(() => ask('/rang'))) as { tries: number }).tries > 0, true);
});

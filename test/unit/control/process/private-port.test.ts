// Several handlers are asked as if they were one: over real sockets, each a server that answers as a supervisor does.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { openPrivatePort, type HandlerPorts } from '#control/process/private-port.ts';

type Answer = (asked: { path: string; body: Record<string, unknown> | null }) => object;

const servers: Server[] = [];
after(() => servers.forEach((server) => server.close()));

/** Its origin. */
async function handler(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const body = answer({ path: request.url!, body: text === '' ? null : JSON.parse(text) });
      response.writeHead('refused' in body ? 409 : 200, { connection: 'close' }).end(JSON.stringify(body));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** One that ended. */
async function gone(): Promise<string> {
  const origin = await handler(() => ({}));
  await new Promise((resolve) => servers.pop()!.close(resolve));
  return origin;
}

const portOf = (...origins: string[]): HandlerPorts => openPrivatePort(origins, 'token');

test('a release starts a worker on all handlers, and one that refuses decides', async () => {
  const seen: string[] = [];
  const good = await handler(({ path }) => {
    seen.push(path);
    return { warmed: true };
  });
  const bad = await handler(() => ({ warmed: false, error: 'it throws' }));
  assert.deepEqual((await portOf(good, await gone()).ask('/_platform/warm', {})).body, { warmed: true });
  assert.deepEqual((await portOf(good, bad).ask('/_platform/warm', {})).body, { warmed: false, error: 'it throws' });
  assert.deepEqual(seen, ['/_platform/warm', '/_platform/warm']);
});

test('a record is routed when every handler that answers has read it', async () => {
  const read = await handler(() => ({ routed: true }));
  const behind = await handler(() => ({ routed: false }));
  const check = { project: 'shop', record: 'abc' };
  assert.deepEqual((await portOf(read, behind).ask('/_platform/check', check)).body, { routed: false });
  assert.deepEqual((await portOf(await gone(), read).ask('/_platform/check', check)).body, { routed: true });
});

test('what changes databases is asked of one handler, the first that can be reached', async () => {
  let asked = 0;
  const first = await handler(() => ({ databases: [`first ${++asked}`] }));
  const second = await handler(() => assert.fail('the first one answers'));
  const port = portOf(await gone(), first, second);
  assert.deepEqual((await port.ask('/_platform/migrate', {})).body, { databases: ['first 1'] });
  await assert.rejects(portOf(await gone(), await gone()).ask('/_platform/migrate', {}), {
    message: /^no handler can be reached at http:.*API_HANDLER_URL/,
  });
});

test('usage and telemetry are asked of each handler, and never of several as one', async () => {
  const [a, b] = [await handler(() => ({ id: 'a1', rows: [] })), await handler(() => ({ id: 'b1', rows: [] }))];
  const away = await gone();
  const port = portOf(a, b, away);
  const ports = await port.each();
  assert.deepEqual(new Set(ports.keys()), new Set([a, b, away]));
  const ask = async (origin: string): Promise<unknown> =>
    (await ports.get(origin)!.ask('/_platform/usage', { acknowledged: null })).body;
  assert.deepEqual(await ask(a), { id: 'a1', rows: [] });
  assert.deepEqual(await ask(b), { id: 'b1', rows: [] });
  await assert.rejects(ask(away), { message: 'fetch failed' });
  for (const path of ['/_platform/usage', '/_platform/telemetry'])
    for (const one of [port, portOf(a)])
      await assert.rejects(one.ask(path, {}), { message: `${path} is asked of each handler` });
});

test('log lines of all handlers come in the order of time, with one cursor', async () => {
  const asked: string[] = [];
  const one = await handler(({ path }) => {
    asked.push(path);
    return { lines: [{ time: 3 }, { time: 9 }], next: '1-7' };
  });
  const two = await handler(() => ({ lines: [{ time: 5 }], next: '1-2' }));
  const port = portOf(one, two);
  const first = await port.ask<{ lines: unknown[]; next: string }>('/_platform/logs?project=shop&after=');
  assert.deepEqual(first.body.lines, [{ time: 3 }, { time: 5 }, { time: 9 }]);
  await port.ask(`/_platform/logs?${new URLSearchParams({ project: 'shop', after: first.body.next })}`);
  assert.deepEqual(asked, ['/_platform/logs?project=shop&after=', '/_platform/logs?project=shop&after=1-7']);
});

test('the status has the processes of all handlers that answer', async () => {
  const one = await handler(() => ({ port: 1, engines: [{ id: 1 }, { id: 2 }], services: [{ name: 'databases' }] }));
  const two = await handler(() => ({ port: 2, engines: [{ id: 1 }], quarantine: [{ deployment: 'd1', strikes: 2 }] }));
  const { body } = await portOf(one, two, await gone()).ask('/_platform/status');
  assert.deepEqual(body, {
    port: 1,
    engines: [{ id: 1 }, { id: 2 }, { id: 1 }],
    services: [{ name: 'databases' }],
    quarantine: [{ deployment: 'd1', strikes: 2 }],
  });
});

test('a question is never lost to a connection that was closed while it was idle', async () => {
  const answered = new WeakSet<object>();
  const server = createServer((request, response) => {
    // A second request on one connection meets its end, as where the handler closes it at that moment.
    if (answered.has(request.socket)) return void request.socket.destroy();
    answered.add(request.socket);
    request.resume().on('end', () => response.end('{"here":true}'));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (const body of [undefined, { operation: 'state.put' }])
    for (let n = 0; n < 2; n++)
      assert.deepEqual(await port.ask('/_platform/data', body), { status: 200, body: { here: true } });
});

// The way of a server to the AI gateway: the name that is led to the socket of its calls, where what is for the gateway
// keeps its token, and everything else wants that of bindings.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http, { type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { AI_HOST, type ServerSpec } from '#core/ssr/protocol.ts';
import { openCalls } from '#runtime/ssr/calls.ts';
import { openEgress } from '#runtime/ssr/egress.ts';

test('requests to the gateway reach the engine with their token, calls of bindings only with theirs', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ai-way-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const seen: { url: string; headers: IncomingHttpHeaders }[] = [];
  const engineSocket = path.join(folder, 'engine.sock');
  const engine = http.createServer((request, response) => {
    seen.push({ url: request.url!, headers: request.headers });
    response.end('answered');
  });
  await once(engine.listen(engineSocket), 'listening');
  t.after(() => engine.close());
  const calls = await openCalls(folder, { key: 'shop/d1' } as ServerSpec, () => [engineSocket]);
  t.after(() => calls.close());
  const policy = { allowPrivate: false } as unknown as Parameters<typeof openEgress>[0]['policy'];
  const closeEgress = await openEgress({
    folder,
    policy,
    lookup: (_host, _options, done) => done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), ''),
    connectionsMax: 10,
    gateway: calls.socket,
  });
  t.after(closeEgress);

  const [led, file] = (await ask(folder, `connect ${AI_HOST} 80`)).split(' ');
  assert.equal(led, 'ok');
  const models = await get({
    socketPath: file!,
    path: '/ai/sdk/models?x=1',
    headers: { authorization: 'Bearer of-ai', 'x-platform-server': 'other/d2' },
  });
  assert.deepEqual(models, { status: 200, body: 'answered' });
  assert.equal(seen[0]!.url, '/ai/sdk/models?x=1');
  assert.equal(seen[0]!.headers.authorization, 'Bearer of-ai');
  assert.equal(seen[0]!.headers['x-platform-server'], 'shop/d1');

  for (const target of ['/', '/aide', '/%61i/x', '/../ai']) {
    const refused = await get({ socketPath: calls.socket, path: target, headers: { authorization: 'Bearer of-ai' } });
    assert.equal(refused.status, 401, target);
  }
  assert.equal(seen.length, 1);
  assert.match(await ask(folder, 'connect gateway.platform.internal 80'), /^ENOTFOUND /);
});

async function ask(folder: string, question: string): Promise<string> {
  const socket = connect(path.join(folder, 'egress.sock'));
  socket.write(`${question}\n`);
  return (await text(socket)).trim();
}

async function get(options: RequestOptions): Promise<{ status: number; body: string }> {
  const [answer] = (await once(http.get(options), 'response')) as [http.IncomingMessage];
  return { status: answer.statusCode!, body: await text(answer) };
}

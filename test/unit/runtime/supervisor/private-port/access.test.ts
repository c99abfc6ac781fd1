// Who may ask the private port, and what it answers to what it does not know. Real engines are asked in
// test/integration/private-port.test.ts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer as createSocketServer } from 'node:net';
import { test } from 'node:test';
import type { EngineState } from '#runtime/supervisor/engines/state.ts';
import { ask, codeOf, deliver, event, openEngine, openPort, TOKEN } from '#test/setup/private-port.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

test('it is ready when an engine listens and nobody asked it to stop', async (t) => {
  const engines: EngineState[] = [];
  let stopping = false;
  const port = await openPort(t, { engines, isStopping: () => stopping });
  const health = async (path: string): Promise<unknown> => {
    const { status, text } = await ask(port, `/_platform/health${path}`);
    return [status, JSON.parse(text)];
  };
  assert.deepEqual(await health(''), [503, { live: true, ready: false }]);
  assert.deepEqual(await health('/live'), [200, { live: true, ready: false }]);
  engines.push(await openEngine(t, null, { state: 'starting' }));
  assert.deepEqual(await health('/ready'), [503, { live: true, ready: false }]);
  engines.push(await openEngine(t, null));
  assert.deepEqual(await health('/ready'), [200, { live: true, ready: true }]);
  assert.deepEqual(await health(''), [200, { live: true, ready: true }]);
  stopping = true;
  assert.deepEqual(await health(''), [503, { live: true, ready: false }]);
  assert.deepEqual(await health('/live'), [200, { live: true, ready: false }]);
});

test('everything but health wants the token', async (t) => {
  const port = await openPort(t, { token: 'a-token-of-our-own' });
  assert.equal((await ask(port, '/_platform/health/live')).status, 200);
  for (const path of ['/_platform/status', '/metrics']) {
    for (const authorization of [
      '',
      'Bearer',
      'Bearer wrong',
      'Basic a-token-of-our-own',
      'Bearer a-token-of-our-own2',
    ]) {
      const refused = await ask(port, path, { headers: { authorization } });
      assert.deepEqual(
        [refused.status, refused.headers['www-authenticate'], codeOf(refused)],
        [401, 'Bearer', 'private_port_unauthorized'],
      );
    }
    assert.equal((await ask(port, path, { headers: { authorization: 'Bearer a-token-of-our-own' } })).status, 200);
  }
  assert.equal((await deliver(port)).status, 401);
});

test('pages of the Web are refused', async (t) => {
  const port = await openPort(t, {});
  assert.equal((await ask(port, '/_platform/status', { headers: { origin: 'https://example.com' } })).status, 403);
  assert.equal((await deliver(port, event, { 'content-type': 'text/plain' })).status, 400);
});

test('an unknown path is 404 and a wrong method 405 with what is allowed', async (t) => {
  const port = await openPort(t, {});
  assert.deepEqual([(await ask(port, '/')).status, (await ask(port, '/constructor')).status], [404, 404]);
  const wrong = await ask(port, '/metrics', { method: 'DELETE' });
  assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'GET, HEAD']);
  assert.equal((await ask(port, '/_platform/deliver')).headers.allow, 'POST');
  const head = await ask(port, '/metrics', { method: 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
});

test('raw bytes on the socket end with an answer or a cut, and the port goes on', async (t) => {
  const port = await openPort(t, {});
  const random = createSeededRandom();
  const pieces = [
    'GET ',
    'POST ',
    '/metrics',
    '/_platform/status',
    ' HTTP/1.1\r\n',
    'host: localhost\r\n',
    `authorization: Bearer ${TOKEN}\r\n`,
    '\r\n',
    '\u0000',
    'content-length: 5\r\n',
    'x'.repeat(50),
  ];
  for (let run = 0; run < fuzzRounds(20); run++) {
    const socket = connect(port.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.end(random.text(pieces, 8));
    socket.resume();
    await once(socket, 'close');
  }
  assert.equal((await ask(port, '/_platform/health/live')).status, 200, `seed ${random.seed}`);
});

test('a port that is taken is told by the system’s own error', async (t) => {
  const taken = createSocketServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  await assert.rejects(openPort(t, { deps: { settings: { port, host: '127.0.0.1', token: TOKEN } } }), {
    code: 'EADDRINUSE',
  });
});

// What is held for isolates outside their heaps, and by an engine as a whole.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';

const handlers: TestHandler[] = [];
after(async () => {
  for (const handler of handlers) await handler.close();
});

const open = async (...parameters: Parameters<typeof startHandler>): Promise<TestHandler> => {
  const handler = await startHandler(...parameters);
  handlers.push(handler);
  return handler;
};

test('above the memory of an engine the isolate that holds most goes, and no other', async () => {
  const handler = await open(
    {
      heavy: `const held = []; export default { async fetch(request) { if (new URL(request.url).pathname === '/light') return new Response('light'); for (let i = 0; i < 40; i++) held.push(new Array(100_000).fill(i)); await scheduler.wait(20_000); return new Response('late'); } };`,
      small: `export default { async fetch() { await scheduler.wait(3000); return new Response('small'); } };`,
    },
    { engineMemoryMb: 1 },
  );
  const [heavy, small] = await Promise.all([handler.fetch('heavy'), handler.fetch('small')]);
  assert.equal(heavy.status, 500);
  assert.equal(heavy.headers['x-platform-error'], 'memory_limit_exceeded');
  assert.equal(small.text, 'small');
  assert.equal((await handler.fetch('heavy', '/light')).text, 'light');
});

test('answers of host calls that wait for a busy isolate are bounded', async () => {
  const cpu = { free: 5000, pro: 5000, enterprise: 5000 };
  const handler = await open(
    {
      busy: `export default { async fetch(request) {
        if (new URL(request.url).pathname !== '/hold') return new Response('served');
        const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, false, ['encrypt']);
        for (let i = 0; i < 500; i++) crypto.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, new Uint8Array(60_000)).catch(() => {});
        await scheduler.wait(1);
        const until = performance.now() + 2000; while (performance.now() < until);
        return new Response('late');
      } };`,
    },
    { bufferedBytesMax: 1_000_000, cpu: { http: cpu, queue: cpu, timer: cpu, cron: cpu, workflow: cpu } },
  );
  const answer = await handler.fetch('busy', '/hold');
  assert.equal(answer.headers['x-platform-error'], 'memory_limit_exceeded');
  assert.equal((await handler.fetch('busy')).text, 'served');
});

test('WebSockets whose clients take nothing are bounded together', async () => {
  const handler = await open(
    {
      sockets: `export default { fetch() { const [client, server] = Object.values(new WebSocketPair()); server.accept(); const text = 'x'.repeat(100_000); let sent = 0; const push = () => { if (sent++ < 200) { server.send(text); setTimeout(push, 1); } }; push(); return new Response(null, { status: 101, webSocket: client }); } };`,
    },
    { bufferedBytesMax: 4_000_000, webSocketBufferedBytesMax: 16_000_000 },
  );
  const { connect } = await import('node:net');
  const sockets = Array.from({ length: 3 }, () => {
    const socket = connect(handler.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write(
      'GET / HTTP/1.1\r\nhost: sockets.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    return socket;
  });
  await handler.logged('sockets', /WebSocket closed: those of this worker have \d+ bytes buffered, limit 4000000/);
  for (const socket of sockets) socket.destroy();
});

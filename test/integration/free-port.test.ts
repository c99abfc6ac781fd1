// The public port that the supervisor chooses when HANDLER_PORT is 0.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { claimPort } from '#runtime/supervisor/engines/port.ts';

const host = '127.0.0.1';

test('no other program gets a free port before an engine listens on it', async (t) => {
  const { port, shared } = await claimPort(host, 0);
  t.after(shared);
  const other = createServer().listen({ host, port, exclusive: true });
  const [error] = (await once(other, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'EADDRINUSE');

  const engine = createServer((socket) => socket.end('engine')).listen({ host, port, reusePort: true });
  t.after(() => engine.close());
  await once(engine, 'listening');
  shared();
  await assert.rejects(claimPort(host, port), { code: 'EADDRINUSE' });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import { test } from 'node:test';
import { EgressMeter } from '#runtime/engine/bindings/egress-meter.ts';

test('bytes of a connection are counted while it is open and after it is closed, once', async (t) => {
  const server = createServer((socket) => socket.end('12345')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const meter = new EgressMeter();
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  meter.add(socket);
  meter.add(socket);
  socket.write('123');
  socket.resume();
  await once(socket, 'end');
  assert.deepEqual([meter.received, meter.sent], [5, 3]);
  socket.destroy();
  if (!socket.closed) await once(socket, 'close');
  assert.deepEqual([meter.received, meter.sent], [5, 3]);
});

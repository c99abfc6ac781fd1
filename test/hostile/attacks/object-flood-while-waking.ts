// Sockets that send as fast as they can to a durable object whose constructor takes its time: what waits is bounded,
// and their clients are slowed down.
import type { Socket } from 'node:net';
import type { Attack } from '#test/setup/hostile.ts';

const [SOCKETS, ROUNDS] = [10, 30];
const worker = `
export class Room {
  constructor(ctx) {
    this.ctx = ctx;
    ctx.blockConcurrencyWhile(() => new Promise((resolve) => setTimeout(resolve, 1500)));
  }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) { socket.send(message + message); }
}
export default {
  fetch: (request, env) =>
    request.headers.get('upgrade') === null ? new Response('alive') : env.ROOM.getByName('one').fetch(request),
};`;
const handshake =
  'GET / HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

/** A text message of 1 KB, masked with zeros. */
function frame(): Buffer {
  const content = Buffer.alloc(1024, 'x');
  return Buffer.concat([Buffer.from('81fe040000000000', 'hex'), content]);
}

export default {
  kind: 'protocol',
  worker,
  yaml: 'object: { ROOM: Room }\n',
  environment: { WORKER_OBJECT_IDLE_MS: '1', WORKER_CPU_LIMIT_MS_FREE: '1000' },
  async attack({ socket }) {
    const opened: Socket[] = [];
    for (let at = 0; at < SOCKETS; at++) {
      const client = await socket();
      client.on('error', () => {});
      client.write(handshake);
      opened.push(client);
    }
    const frames = Buffer.concat(Array.from({ length: 500 }, frame));
    for (let round = 0; round < ROUNDS; round++) {
      for (const client of opened) client.write(frames);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const client of opened) client.destroy();
    return 'done';
  },
  expect: 'done',
} satisfies Attack;

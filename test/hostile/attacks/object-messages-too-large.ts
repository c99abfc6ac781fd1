// Messages beyond the bound, to a WebSocket that a durable object has accepted and from it: both are closed with 1009.
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Attack } from '#test/setup/hostile.ts';

const BYTES = 33 * 1024 * 1024;
const worker = `
export class Room {
  constructor(ctx) { this.ctx = ctx; }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket) { socket.send(new Uint8Array(${BYTES})); }
}
export default {
  fetch: (request, env) =>
    request.headers.get('upgrade') === null ? new Response('alive') : env.ROOM.getByName('one').fetch(request),
};`;

export default {
  kind: 'memory',
  worker,
  yaml: 'object: { ROOM: Room }\n',
  environment: { WORKER_MEMORY_MB: '128', WORKER_CPU_LIMIT_MS_FREE: '1000' },
  async attack({ socket }) {
    const probe = await socket();
    const { remotePort } = probe;
    probe.destroy();
    const codes: number[] = [];
    for (const message of [Buffer.alloc(BYTES), 'more than you take']) {
      const options = { headers: { host: 'attacker.localhost' }, perMessageDeflate: false, maxPayload: 0 };
      const client = new WebSocket(`ws://127.0.0.1:${remotePort}/`, options);
      await once(client, 'open');
      client.on('error', () => {});
      client.send(message);
      codes.push(((await once(client, 'close')) as [number])[0]);
    }
    return codes.join();
  },
  expect: '1009,1009',
  growthMbMax: 300,
} satisfies Attack;

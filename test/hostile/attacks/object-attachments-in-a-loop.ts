// Attachments at their bound, set in a loop on many kept WebSockets: what an entry sets is bounded, and what they hold
// is counted. The host may close a socket that holds too much (1013).
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Attack } from '#test/setup/hostile.ts';

const worker = `
const largest = 'x'.repeat(16_000);
export class Room {
  constructor(ctx) { this.ctx = ctx; }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) {
    if (message === 'alive') return socket.send('alive');
    for (let at = 0; at < 100_000; at++)
      for (const other of this.ctx.getWebSockets()) other.serializeAttachment(at + largest);
  }
}
export default {
  fetch: (request, env) =>
    request.headers.get('upgrade') === null ? new Response('alive') : env.ROOM.getByName('one').fetch(request),
};`;

export default {
  kind: 'memory',
  worker,
  yaml: 'object: { ROOM: Room }\n',
  async attack({ socket }) {
    const probe = await socket();
    const { remotePort } = probe;
    probe.destroy();
    const clients: WebSocket[] = [];
    for (let at = 0; at < 50; at++) {
      const client = new WebSocket(`ws://127.0.0.1:${remotePort}/`, { headers: { host: 'attacker.localhost' } });
      client.on('error', () => {});
      await once(client, 'open');
      clients.push(client);
    }
    const [first] = clients as [WebSocket];
    for (const client of clients.slice(0, 5)) client.send('attack');
    const answer = Promise.race([once(first, 'message'), once(first, 'close')]) as Promise<[Buffer | number]>;
    first.send('alive');
    const [said] = await answer;
    for (const client of clients) client.terminate();
    return String(said);
  },
  expect: ['alive', '1013'],
} satisfies Attack;

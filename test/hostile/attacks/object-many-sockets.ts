// A hundred thousand WebSockets of one object, opened by a worker and by the object itself: those that are kept are
// counted, and the invocations that open them end by a limit.
import type { Attack } from '#test/setup/hostile.ts';

const ENDS =
  /^[25]\d\d (?:subrequest_limit_exceeded|websocket_limit_exceeded|host_memory_exceeded|cpu_limit_exceeded|isolate_replaced|object_reset|memory_limit_exceeded)$/;

const worker = `
const kept = [];
export class Room {
  constructor(ctx) { this.ctx = ctx; }
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  own() {
    for (let at = 0; at < 100_000; at++) {
      const [client, server] = Object.values(new WebSocketPair());
      this.ctx.acceptWebSocket(server);
      kept.push(client);
    }
    return 'all';
  }
}
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const room = env.ROOM.getByName('one');
    try {
      if (pathname === '/own') return new Response(await room.own());
      if (pathname !== '/attack') return new Response('alive');
      for (let at = 0; at < 100_000; at++) {
        const { webSocket } = await room.fetch('https://room/', { headers: { upgrade: 'websocket' } });
        webSocket.accept();
        kept.push(webSocket);
      }
      return new Response('all');
    } catch (error) {
      return new Response(error.code);
    }
  },
};`;

export default {
  kind: 'memory',
  worker,
  yaml: 'object: { ROOM: Room }\n',
  async attack({ get }) {
    const paths = Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? '/attack' : '/own'));
    const answers = await Promise.all(paths.map((path) => get(path, { waitMs: 60_000 })));
    const others = answers.filter((answer) => !ENDS.test(answer));
    return others.length === 0 ? 'held' : others.join();
  },
  expect: 'held',
} satisfies Attack;

// A gigabyte to a server that reads nothing, in writes of 16 MB that are not waited for, and one to a server that does:
// what waits is bounded.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const server = createServer((socket) => void socket.on('error', () => {}).pause());
await once(server.listen(0, '127.0.0.1').unref(), 'listening');
const { port } = server.address() as AddressInfo;

export default {
  kind: 'memory',
  worker: attacker(
    `const socket = connect('127.0.0.1:${port}'); const writer = socket.writable.getWriter(); const piece = new Uint8Array(16_000_000); const writes = Array.from({ length: 64 }, () => writer.write(piece)); await Promise.all(writes); return new Response('written');`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_WALL_LIMIT_MS: '1500' },
  attack: ({ get }) => get(),
  expect: ['504 wall_limit_exceeded', '500 memory_limit_exceeded'],
  growthMbMax: 150,
} satisfies Attack;

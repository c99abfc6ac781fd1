// Servers that are cut within the handshake of TLS, or answer it with other bytes.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const cut = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.resetAndDestroy()));
const other = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
for (const server of [cut, other]) await once(server.listen(0, '127.0.0.1').unref(), 'listening');
const ports = [cut, other].map((server) => (server.address() as AddressInfo).port);

export default {
  kind: 'protocol',
  worker: attacker(
    `const answers = await Promise.all(${JSON.stringify(ports)}.map(async (port) => { const socket = connect({ hostname: '127.0.0.1', port }, { secureTransport: 'on' }); const seen = []; for (const run of [() => socket.opened, () => socket.closed, () => socket.readable.getReader().read(), () => socket.writable.getWriter().write(new Uint8Array(9))]) try { await run(); seen.push('fine'); } catch (error) { seen.push(error instanceof Error ? 'failed' : 'odd'); } return seen.join(' '); }));
    return new Response(answers.join());`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback' },
  attack: ({ get }) => get(),
  expect: '200 failed failed failed failed,failed failed failed failed',
} satisfies Attack;

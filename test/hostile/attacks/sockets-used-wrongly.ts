// startTls twice and where it may not be, writes after the end and after the close, and arguments that no type allows,
// by the hooks that the modules use as well.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { attacker, type Attack } from '#test/setup/hostile.ts';

const server = createServer((socket) => void socket.on('error', () => {}).resume());
await once(server.listen(0, '127.0.0.1').unref(), 'listening');
const { port } = server.address() as AddressInfo;

export default {
  kind: 'protocol',
  worker: attacker(
    `const open = (options) => connect('127.0.0.1:${port}', options);
    const hooks = globalThis[Symbol.for('platform.node')];
    const raw = (args) => hooks.tcpOpen({ hostname: '127.0.0.1', port: ${port}, ...args }).opened;
    const bytes = new Uint8Array(1);
    const runs = [
      () => open().startTls(),
      () => { const socket = open({ secureTransport: 'starttls' }); socket.startTls(); socket.startTls(); },
      async () => { const writer = open().writable.getWriter(); await writer.close(); await writer.write(bytes); },
      async () => { const socket = open(); const writer = socket.writable.getWriter(); await socket.close(); await writer.write(bytes); },
      () => raw({ hostname: 'a\\0b' }),
      () => raw({ hostname: 'x'.repeat(10_000) }),
      () => raw({ port: Number.NaN }),
      () => raw({ secure: true, tls: { ca: 'x'.repeat(1_000_000) } }),
      () => raw({ secure: true, tls: { alpn: Array(1000).fill('h2') } }),
      () => raw({ secure: true, tls: { servername: {} } }),
      () => raw({ secure: true, tls: { minVersion: 'SSLv2' } }),
      () => raw({ stream: 1, handle: 7, get hostname() { return '10.0.0.1'; } }),
    ];
    const answers = await Promise.all(runs.map(async (run) => { try { await run(); return 'fine'; } catch (error) { return error instanceof Error ? 'refused' : 'odd'; } }));
    return new Response([...new Set(answers)].join());`,
    `import { connect } from 'cloudflare:sockets';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback' },
  attack: ({ get }) => get(),
  expect: '200 refused',
} satisfies Attack;

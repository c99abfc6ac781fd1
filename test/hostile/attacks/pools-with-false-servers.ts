// Servers of a pool that are none: silent, talkative, with messages of impossible lengths, with SCRAM of a billion
// rounds or without proof, with plain text before TLS, that end between queries or speak without being asked.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { errorMessage, int32, message } from '#runtime/engine/bindings/pools/messages.ts';
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { poolClient } from '#test/setup/pool-server.ts';

const ready = [message('R', int32(0)), message('K', Buffer.alloc(8)), message('Z', 'I')];
const flood = (socket: Socket): void => {
  while (socket.write(Buffer.alloc(64 * 1024, message('N', 'Sx\0\0')))) if (socket.destroyed) return;
  socket.once('drain', () => flood(socket));
};
const servers: Readonly<Record<string, (socket: Socket, times: number) => void>> = {
  ends: (socket) => socket.end(),
  resets: (socket) => socket.resetAndDestroy(),
  garbage: (socket) => socket.write(Buffer.alloc(1000, 0xff)),
  floods: flood,
  giant: (socket) => socket.write(Buffer.concat([Buffer.from('R'), int32(0x7fff_ffff), Buffer.alloc(500_000)])),
  rounds: (socket, times) =>
    socket.write(
      times === 0
        ? message('R', int32(10), 'SCRAM-SHA-256\0\0')
        : message('R', int32(11), `r=x,s=${Buffer.alloc(16).toString('base64')},i=1000000000`),
    ),
  unproved: (socket, times) =>
    socket.write(times === 0 ? message('R', int32(10), 'SCRAM-SHA-256\0\0') : Buffer.concat(ready)),
  skips: (socket) => socket.write(message('Z', 'I')),
  unknown: (socket) => socket.write(message('R', int32(7))),
  error: (socket) => socket.end(errorMessage('28000', 'x'.repeat(40_000))),
  parameters: (socket) =>
    socket.write(Buffer.concat([...Array.from({ length: 20_000 }, (_, at) => message('S', `p${at}\0v\0`)), ...ready])),
};
const ports: Record<string, number> = {};
for (const [name, serve] of Object.entries(servers)) {
  const server = createServer((socket) => {
    let times = 0;
    socket.on('error', () => {}).on('data', () => serve(socket, times++));
  });
  await once(server.listen(0, '127.0.0.1').unref(), 'listening');
  ports[name] = (server.address() as AddressInfo).port;
}
/** Answers before TLS has begun. */
const early = createServer((socket) => void socket.on('error', () => {}).once('data', () => socket.write('Sextra')));
await once(early.listen(0, '127.0.0.1').unref(), 'listening');
/** Is ready, and speaks when nobody asks. */
const talks = createServer((socket) => {
  socket
    .on('error', () => {})
    .once('data', () => {
      socket.write(Buffer.concat(ready));
      socket.on('data', () =>
        socket.write(Buffer.concat([message('C', 'X\0'), message('Z', 'I'), message('D', 'early')])),
      );
    });
});
await once(talks.listen(0, '127.0.0.1').unref(), 'listening');

const urlOf = (port: number, mode = 'disable'): string => `postgres://a:secret@127.0.0.1:${port}/x?sslmode=${mode}`;
const urls = {
  ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name.toUpperCase(), urlOf(port)])),
  EARLY: urlOf((early.address() as AddressInfo).port, 'require'),
  TALKS: urlOf((talks.address() as AddressInfo).port),
};

export default {
  kind: 'protocol',
  yaml: `hyperdrive: { ${Object.keys(urls)
    .map((name) => `${name}: URL_OF_${name}`)
    .join(', ')} }\n`,
  worker: attacker(
    `const answers = await Promise.all(${JSON.stringify(Object.keys(urls))}.map(async (name) => {
      const client = new Client(env[name]);
      const outcome = client.outcome();
      await client.send(startup()).catch(() => {});
      return outcome;
    }));
    const [talks, ...others] = answers.toReversed();
    const odd = others.filter((answer) => !['08001', '28000'].includes(answer));
    const again = await asked(env.TALKS, 'one').then(() => 'served', () => 'served');
    return new Response(odd.length === 0 ? 'refused ' + talks + ' ' + again : answers.join());`,
    poolClient,
  ),
  vars: { attacker: Object.fromEntries(Object.entries(urls).map(([name, url]) => [`URL_OF_${name}`, url])) },
  environment: { WORKER_EGRESS_ALLOW: 'loopback', WORKER_CPU_LIMIT_MS_FREE: '2000' },
  attack: ({ get }) => get('/attack', { waitMs: 40_000 }),
  expect: '200 refused ready served',
  growthMbMax: 80,
} satisfies Attack;

// Cookies for a parent of the own host, by which a visitor of another project would be given a session of the
// attacker's.
import { attacker, type Attack } from '#test/setup/hostile.ts';

const spellings = [
  'Domain=localhost',
  'domain=.LOCALHOST',
  '\\tDOMAIN = localhost ',
  'Domain=attacker.localhost; Domain=localhost',
  'Domain=victim.localhost',
  'Domain=localhost.',
  'Domain="localhost"',
];

export default {
  kind: 'tenancy',
  worker: attacker(
    `
  const headers = new Headers({ 'set-cookie': 'own=1; Path=/; Domain=attacker.localhost' });
  for (const domain of ${JSON.stringify(spellings)}.map((text) => JSON.parse('"' + text.replaceAll('"', '\\\\"') + '"')))
    headers.append('set-cookie', 'platform.session_token=mine; Path=/; ' + domain);
  headers.append('set-cookie', 'a=1, b=2; Domain=localhost');
  const how = request.headers.get('x-how');
  if (how === 'upgrade') {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    return new Response(null, { status: 101, webSocket: client, headers });
  }
  const body = how === 'stream' ? new ReadableStream({ start: (stream) => setTimeout(() => (stream.enqueue(new Uint8Array(1)), stream.close()), 5) }) : 'x';
  return new Response(body, { headers, status: how === 'redirect' ? 302 : 200 });`,
  ),
  environment: { HANDLER_PROCESSES: '2' },
  async attack({ raw }) {
    const seen = new Set<string>();
    const handshake =
      'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
    // Several connections each: some come to the engine that forwards.
    for (const how of ['whole', 'stream', 'redirect', 'upgrade', 'whole', 'stream', 'redirect', 'upgrade']) {
      const rest = how === 'upgrade' ? handshake : 'connection: close\r\n';
      const answer = await raw(`GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\nx-how: ${how}\r\n${rest}\r\n`, 300);
      seen.add((answer.match(/^set-cookie: .*$/gim) ?? ['none']).join(' and '));
    }
    return [...seen].join(', ');
  },
  expect: 'set-cookie: own=1; Path=/; Domain=attacker.localhost',
} satisfies Attack;

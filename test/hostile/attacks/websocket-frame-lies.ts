// WebSocket frames that lie about their length, lack their mask, or use reserved bits.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `const pair = new WebSocketPair(); pair[1].accept(); pair[1].addEventListener('message', (event) => pair[1].send(String(event.data.length))); return new Response(null, { status: 101, webSocket: pair[0] });`,
  ),
  async attack({ socket }) {
    const seen = new Set<string>();
    for (const frame of [
      '81ff7fffffffffffffff00000000',
      '8105',
      '818100000000',
      'f18000000000',
      '83 8000000000'.replace(' ', ''),
      '88 8100000000ff'.replace(' ', ''),
    ]) {
      const opened = await socket();
      let bytes = Buffer.alloc(0);
      opened.on('data', (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])));
      opened.write(
        'GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
      opened.write(Buffer.from(frame, 'hex'));
      await new Promise((resolve) => setTimeout(resolve, 200));
      seen.add(bytes.toString('latin1').slice(0, 12));
      opened.destroy();
    }
    return [...seen].join(', ');
  },
  expect: 'HTTP/1.1 101',
} satisfies Attack;

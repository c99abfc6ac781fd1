// A socket that is sent messages faster than its worker, which sends ten back for each.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `const pair = new WebSocketPair(); pair[1].accept(); pair[1].addEventListener('message', () => { for (let i = 0; i < 10; i++) pair[1].send('x'.repeat(10_000)); }); return new Response(null, { status: 101, webSocket: pair[0] });`,
  ),
  async attack({ socket }) {
    const opened = await socket();
    opened.pause();
    opened.write(
      'GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const frames = Buffer.concat(Array.from({ length: 1000 }, () => Buffer.from('818100000000' + '61', 'hex')));
    for (let round = 0; round < 30; round++) {
      opened.write(frames);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    opened.destroy();
    return 'done';
  },
  expect: 'done',
} satisfies Attack;

// A hundred uploads that send a byte at a time.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response('got ' + (await request.text()).length);`),
  async attack({ socket }) {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => socket()));
    for (const each of sockets)
      each.write('POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\ncontent-length: 1000\r\n\r\n');
    for (let round = 0; round < 20; round++) {
      for (const each of sockets) each.write('x');
      await new Promise((resolve) => setTimeout(resolve, 75));
    }
    for (const each of sockets) each.destroy();
    return 'done';
  },
  expect: 'done',
} satisfies Attack;

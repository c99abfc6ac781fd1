// Two hundred connections that send their headers a byte at a time.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`return new Response();`),
  async attack({ socket }) {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => socket()));
    for (let round = 0; round < 20; round++) {
      for (const each of sockets) each.write('GET / HTTP/1.1\r\nx: y'.charAt(round));
      await new Promise((resolve) => setTimeout(resolve, 75));
    }
    const open = sockets.filter((each) => !each.destroyed).length;
    for (const each of sockets) each.destroy();
    return `${open} held`;
  },
  expect: '200 held',
} satisfies Attack;

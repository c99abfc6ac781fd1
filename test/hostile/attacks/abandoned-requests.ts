// Requests whose clients go away at once, a thousand of them.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`await scheduler.wait(100); return new Response('late');`),
  async attack({ socket }) {
    for (let round = 0; round < 20; round++) {
      const sockets = await Promise.all(Array.from({ length: 50 }, () => socket()));
      for (const each of sockets) {
        each.write('GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\n\r\n');
        setTimeout(() => each.destroy(), 20);
      }
    }
    return 'gone';
  },
  expect: 'gone',
} satisfies Attack;

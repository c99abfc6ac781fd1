// Responses of 20 MB that nobody reads.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(
    `let n = 0; return new Response(new ReadableStream({ pull(c) { if (n++ > 300) c.close(); else c.enqueue(new Uint8Array(65536)); } }));`,
  ),
  async attack({ socket }) {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => socket()));
    for (const each of sockets) {
      each.pause();
      each.write('GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\n\r\n');
    }
    await new Promise((resolve) => setTimeout(resolve, 1500));
    for (const each of sockets) each.destroy();
    return 'done';
  },
  expect: 'done',
} satisfies Attack;

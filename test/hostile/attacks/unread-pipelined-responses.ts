// Pipelined requests whose responses nobody reads: each invocation is over, and the engine holds what the client has
// not taken.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'memory',
  worker: attacker(`return new Response(body);`, `const body = new Uint8Array(100_000);`),
  environment: { WORKER_HOST_MEMORY_MB: '64' },
  async attack({ socket }) {
    const sockets = [];
    for (let i = 0; i < 50; i++) {
      const opened = await socket();
      opened.pause();
      opened.write('GET /attack HTTP/1.1\r\nhost: attacker.localhost\r\n\r\n'.repeat(200));
      sockets.push(opened);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const each of sockets) each.destroy();
    return 'done';
  },
  expect: 'done',
  growthMbMax: 450,
} satisfies Attack;

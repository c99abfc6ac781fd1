// Bodies without end to a worker that never reads them.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'protocol',
  worker: attacker(`await scheduler.wait(2000); return new Response('late');`),
  async attack({ socket }) {
    let sent = 0;
    const sockets = await Promise.all(Array.from({ length: 10 }, () => socket()));
    const chunk = Buffer.from(`10000\r\n${'x'.repeat(65536)}\r\n`);
    for (const each of sockets) {
      each.resume();
      each.write('POST /attack HTTP/1.1\r\nhost: attacker.localhost\r\ntransfer-encoding: chunked\r\n\r\n');
      const push = (): void => {
        while (!each.destroyed && each.write(chunk)) sent += 65536;
      };
      each.on('drain', push);
      push();
    }
    await new Promise((resolve) => setTimeout(resolve, 1500));
    for (const each of sockets) each.destroy();
    // What went out of this process lies in the kernel's buffers and in windows: a few MB a connection at most.
    return sent < 200_000_000 ? 'held back' : `took ${sent}`;
  },
  expect: 'held back',
} satisfies Attack;

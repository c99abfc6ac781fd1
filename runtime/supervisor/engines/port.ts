// The public port, held for the supervisor's life: engines share it with each other (SO_REUSEPORT), so that the system
// would let a second platform join them unnoticed. Used by main.ts before the first engine starts.
import { createServer, type AddressInfo, type Server } from 'node:net';

/** A port that is ours. */
interface ClaimedPort {
  readonly port: number;
  release(): void;
}

/**
 * Takes a port, 0 for a free one; engines listen on it afterwards.
 *
 * @throws {Error} `EADDRINUSE`, `EACCES` as the system says it.
 */
export async function claimPort(host: string, port: number): Promise<ClaimedPort> {
  const probe = createServer();
  await listen(probe, { host, port });
  const chosen = (probe.address() as AddressInfo).port;
  let guard: Server | null = null;
  if (process.platform === 'linux') {
    // A name without a file: it goes with its holder, and is one per network, as ports are. It also refuses a second
    // starter at moments at which no engine listens.
    guard = createServer((socket) => socket.destroy());
    try {
      await listen(guard, { path: `\0platform-handler-${chosen}` });
    } catch (error) {
      probe.close();
      throw error;
    }
    guard.unref();
  }
  await new Promise((resolve) => void probe.close(resolve));
  return { port: chosen, release: () => void guard?.close() };
}

function listen(server: Server, where: { host: string; port: number } | { path: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, exclusive: true }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

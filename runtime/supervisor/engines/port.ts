// The public port, held as long as the supervisor runs: engines share it (SO_REUSEPORT), so the system would silently
// let a second platform join them. Used by main.ts before the first engine starts.
import { createServer, type AddressInfo, type Server } from 'node:net';

/** A claimed port. */
interface ClaimedPort {
  readonly port: number;
  release(): void;
}

/**
 * Claims a port, 0 for a free one; engines listen on it afterwards.
 *
 * @param isOpen a socket listens on it already, which systemd opened for this platform.
 * @throws {Error} `EADDRINUSE`, `EACCES` from the system.
 */
export async function claimPort(host: string, port: number, isOpen = false): Promise<ClaimedPort> {
  const probe = createServer();
  if (!isOpen) await listen(probe, { host, port });
  const chosen = isOpen ? port : (probe.address() as AddressInfo).port;
  let guard: Server | null = null;
  if (process.platform === 'linux') {
    // An abstract socket: it disappears with its holder, and is unique per network namespace, like ports. It also
    // refuses a second platform at moments when no engine listens.
    guard = createServer((socket) => socket.destroy());
    try {
      await listen(guard, { path: `\0platform-handler-${chosen}` });
    } catch (error) {
      probe.close();
      throw error;
    }
    guard.unref();
  }
  if (!isOpen) await new Promise((resolve) => void probe.close(resolve));
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

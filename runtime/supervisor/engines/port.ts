// The public port, held as long as the supervisor runs: engines share it (SO_REUSEPORT), so the system would silently
// let a second platform join them. Used by main.ts before the first engine starts.
import { createServer, type AddressInfo, type ListenOptions, type Server } from 'node:net';

/** A claimed port. */
interface ClaimedPort {
  readonly port: number;
  /** Called when an engine listens on the port: a free port that was chosen here is held until then. */
  shared(): void;
}

/**
 * Claims a port for the engines; 0 means any free port.
 *
 * @param isOpen whether systemd has already opened a listening socket on the port for this platform.
 * @throws {Error} `EADDRINUSE`, `EACCES` from the system.
 */
export async function claimPort(host: string, port: number, isOpen = false): Promise<ClaimedPort> {
  const isLinux = process.platform === 'linux';
  // Otherwise another program may get a free port before the first engine listens. No other program knows the port yet.
  const isHeld = port === 0 && isLinux;
  const probe = createServer((socket) => socket.destroy()).unref();
  if (!isOpen) await listen(probe, { host, port, reusePort: isHeld });
  const chosen = isOpen ? port : (probe.address() as AddressInfo).port;
  if (isLinux) {
    // An abstract socket: it disappears with its holder, and is unique per network namespace, like ports. The socket
    // also makes a second platform fail while no engine listens.
    const guard = createServer((socket) => socket.destroy());
    try {
      await listen(guard, { path: `\0platform-handler-${chosen}` });
    } catch (error) {
      probe.close();
      throw error;
    }
    guard.unref();
  }
  if (!isOpen && !isHeld) await new Promise((resolve) => void probe.close(resolve));
  return { port: chosen, shared: () => void (isHeld && probe.close()) };
}

function listen(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...where, exclusive: true }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

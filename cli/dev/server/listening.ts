// Checks whether a local port accepts connections, and finds a free port. For dev servers.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** Local connections succeed or fail immediately. */
const CONNECT_MS = 1000;

/** Whether the port accepts connections. */
export function isListening(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: reachable(host), port, timeout: CONNECT_MS });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}

/** A currently free port. */
export async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Loopback address for a wildcard host. */
function reachable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}

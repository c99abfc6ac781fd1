// Whether a program of this machine accepts connections on a port, and a port that none has. Called for dev servers.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** A connection within this machine is there at once, or not at all. */
const CONNECT_MS = 1000;

/** Whether somebody accepts connections there. */
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

/** A port that is free at this moment. */
export async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Where one reaches whoever listens on all addresses. */
function reachable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}

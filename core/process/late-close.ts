// Closes idle connections of a node:http server without losing a request that has already arrived. Used by servers with
// an idle timeout of their own. Knows nothing of requests.
import type { Server } from 'node:http';

/**
 * Closes connections whose time is over one turn later. After a stop of the process, and where it was busy for long,
 * timers come before what sockets have received meanwhile: a request that waits there would be lost.
 */
export function closeIdleLate(server: Pick<Server, 'on'>): void {
  server.on('timeout', (socket) => {
    const { bytesRead } = socket;
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  });
}

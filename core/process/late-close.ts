// Closes idle connections of a node:http server without losing a request that has already arrived. Used by servers
// with their own idle timeout. Independent of requests.
import type { Server } from 'node:http';

/**
 * Closes expired connections one tick later. When the process was stopped or busy for long, timers run before received
 * data is read, so a waiting request would be lost.
 */
export function closeIdleLate(server: Pick<Server, 'on'>): void {
  server.on('timeout', (socket) => {
    const { bytesRead } = socket;
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  });
}

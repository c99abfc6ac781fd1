// Detects a client that disconnects while its WebSocket handshake waits for an answer: the connection is not read
// then, and only reading reveals its end. Used by listener-node.ts and node-exchange.ts.
import type { Socket } from 'node:net';

/** Destroys the socket when its client ends it. Data that the client sends early stays unread. */
export function watchHandshake(socket: Socket): void {
  socket.on('readable', seeEnd).on('end', destroy);
}

/** The WebSocket takes over reading. */
export function unwatchHandshake(socket: Socket): void {
  socket.off('readable', seeEnd).off('end', destroy);
}

function seeEnd(this: Socket): void {
  if (this.readableLength === 0) this.read();
}

function destroy(this: Socket): void {
  this.destroy();
}

// The connection of a WebSocket handshake: detects a client that disconnects while the handshake waits for an answer
// (the connection is not read then, and only reading reveals its end), and hands the connection over to the WebSocket.
// Used by listener-node.ts and node-exchange.ts.
import type { Socket } from 'node:net';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { ResponseHead } from './header-block.ts';
import type { Upgrader } from './websocket.ts';

/** Destroys the socket when its client ends it. Data that the client sends early stays unread. */
export function watchHandshake(socket: Socket): void {
  socket.on('readable', seeEnd).on('end', destroy);
}

function seeEnd(this: Socket): void {
  if (this.readableLength === 0) this.read();
}

function destroy(this: Socket): void {
  this.destroy();
}

/**
 * The WebSocket takes over reading.
 *
 * @param first data that the client sent after the handshake. @returns a closed wire if the handshake was refused after
 * all.
 */
export function openWebSocket(
  listener: { readonly upgrader: Upgrader | null; readonly draining: boolean },
  socket: Socket,
  { headerBlock, memory }: { readonly headerBlock: string; readonly memory: HostMemory | null },
  first: Buffer,
  head: ResponseHead,
  events: SocketEvents,
): SocketWire {
  socket.off('readable', seeEnd).off('end', destroy);
  const wire = listener.upgrader!.upgrade(headerBlock, socket, first, head, events, memory);
  if (wire === null) {
    queueMicrotask(() => events.closed(1006, '', false));
    return CLOSED_WIRE;
  }
  if (listener.draining) wire.close(1012, 'Service restart');
  return wire;
}

const CLOSED_WIRE: SocketWire = { send() {}, close() {}, pause() {}, resume() {}, bufferedBytes: 0 };

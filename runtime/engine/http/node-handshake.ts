// The connection of a WebSocket handshake: detects a client that disconnects while the handshake waits for an answer
// (the connection is not read then, and only reading reveals its end), and hands the connection over to the WebSocket.
// Used by listener-node.ts and node-exchange.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { ResponseHead } from './header-block.ts';
import type { Upgrader } from './websocket.ts';

/** The connection of a response that is under way, as Node sees it. */
type Answered = Socket & { readonly _httpMessage: ServerResponse | null };

/**
 * Destroys the socket when its client ends it, and after an answer that refuses the handshake. Data that the client
 * sends early stays unread.
 */
export function watchHandshake(socket: Socket, response: ServerResponse): void {
  // None of them refers to the response, which would stay in memory as long as the WebSocket.
  socket.on('error', ignore).on('drain', passDrain).on('readable', seeEnd).on('end', destroy);
  response.on('finish', destroySoon);
}

function ignore(): void {}

function passDrain(this: Socket): void {
  (this as Answered)._httpMessage?.emit('drain');
}

function destroySoon(this: ServerResponse): void {
  this.req.socket.destroySoon();
}

function seeEnd(this: Socket): void {
  if (this.readableLength === 0) this.read();
}

function destroy(this: Socket): void {
  this.destroy();
}

/**
 * Called when the WebSocket takes over reading.
 *
 * @param first data that the client sent after the handshake. @returns a closed wire if the handshake was refused.
 */
export function openWebSocket(
  listener: { readonly upgrader: Upgrader | null; readonly draining: boolean },
  socket: Socket,
  { headerBlock, memory }: { readonly headerBlock: string; readonly memory: HostMemory | null },
  first: Buffer,
  head: ResponseHead,
  events: SocketEvents,
): SocketWire {
  socket.off('drain', passDrain).off('readable', seeEnd).off('end', destroy);
  const wire = listener.upgrader!.upgrade(headerBlock, socket, first, head, events, memory);
  if (wire === null) {
    queueMicrotask(() => events.closed(1006, '', false));
    return CLOSED_WIRE;
  }
  if (listener.draining) wire.close(1012, 'Service restart');
  return wire;
}

const CLOSED_WIRE: SocketWire = { send() {}, close() {}, pause() {}, resume() {}, bufferedBytes: 0 };

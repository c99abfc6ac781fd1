// An open WebSocket on uWebSockets.js as the wire of the bridge, and the library's WebSocket options for a listener.
// Used by listener-uws.ts and uws-exchange.ts. Independent of workers.
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { utf8 } from './uws-text.ts';
import type { WebSocketLimits } from './websocket.ts';

/** The part of the library's socket object that is used. Its methods throw when the socket is closed. */
interface UwsSocket {
  getUserData(): UwsSocketOwner;
  send(message: string | Uint8Array, isBinary: boolean, compress: boolean): number;
  getBufferedAmount(): number;
  end(code: number, reason: string | Uint8Array): void;
}

/** The user data of a socket. The library copies the properties of the object, but not its methods. */
export interface UwsSocketOwner {
  readonly wire: UwsWire;
}

/** The library's callbacks for sockets, except `upgrade`, which is in listener-uws.ts. */
export interface UwsBehavior<Upgrade> {
  readonly maxPayloadLength: number;
  readonly maxBackpressure: number;
  readonly idleTimeout: number;
  readonly sendPingsAutomatically: boolean;
  readonly compression: number;
  readonly upgrade: Upgrade;
  readonly open: (socket: UwsSocket) => void;
  readonly message: (socket: UwsSocket, message: ArrayBuffer, isBinary: boolean) => void;
  readonly close: (socket: UwsSocket, code: number, reason: ArrayBuffer) => void;
}

/**
 * Lengths of messages that are compressed: compression of shorter messages costs more than it saves, and longer
 * messages would block the main thread for more than a millisecond.
 */
const COMPRESS_BYTES_MIN = 1024;
const COMPRESS_BYTES_MAX = 64 * 1024;
/** Memory of a queued message, in addition to its bytes. */
const MESSAGE_BYTES = 512;
/** Timeouts that the library accepts, in seconds. */
const IDLE_SECONDS = [8, 960] as const;

/** @param compression the library's constant for the compression mode. */
export function uwsBehavior<Upgrade>(
  limits: WebSocketLimits,
  compression: number,
  upgrade: Upgrade,
): UwsBehavior<Upgrade> {
  const idleSeconds = Math.ceil((2 * (limits.webSocketIdleMs ?? 30_000)) / 1000);
  return {
    maxPayloadLength: limits.webSocketMessageBytesMax ?? 32 * 1024 * 1024,
    // The library drops messages above this limit, and 0 does not disable it. The value is high, because the bridge
    // limits the queue.
    maxBackpressure: 2 ** 30,
    idleTimeout: Math.min(Math.max(idleSeconds, IDLE_SECONDS[0]), IDLE_SECONDS[1]),
    sendPingsAutomatically: true,
    compression,
    upgrade,
    open: (socket) => socket.getUserData().wire.opened(socket),
    message: (socket, message, isBinary) => socket.getUserData().wire.received(message, isBinary),
    close: (socket, code, reason) => socket.getUserData().wire.closed(code, reason),
  };
}

/** User data that is passed to the library with the handshake, and that the library passes to the socket's events. */
export class UwsWire implements SocketWire {
  readonly #events: SocketEvents;
  readonly #waitingBytesMax: number;
  readonly #open: Set<UwsWire>;
  #socket: UwsSocket | null = null;
  #paused = false;
  /** Messages that were received while the socket is paused, because the library cannot pause a WebSocket. */
  #held: Part[] = [];
  #heldBytes = 0;

  constructor(deps: { readonly events: SocketEvents; readonly open: Set<UwsWire>; readonly waitingBytesMax: number }) {
    this.#events = deps.events;
    this.#open = deps.open;
    this.#waitingBytesMax = deps.waitingBytesMax;
  }

  opened(socket: UwsSocket): void {
    this.#socket = socket;
    this.#open.add(this);
  }

  received(message: ArrayBuffer, isBinary: boolean): void {
    // The library detaches the buffer when this call returns.
    const data = isBinary ? new Uint8Array(message.slice(0)) : Buffer.from(message).toString('utf8');
    if (!this.#paused) {
      this.#events.message(data);
      return;
    }
    this.#held.push(data);
    this.#heldBytes += data.length + MESSAGE_BYTES;
    if (this.#heldBytes > this.#waitingBytesMax) this.close(1013, 'Too fast');
  }

  closed(code: number, reason: ArrayBuffer): void {
    this.#socket = null;
    this.#open.delete(this);
    this.resume();
    // Without a close frame, the library reports its own reason.
    const isClean = code !== 1006;
    this.#events.closed(code === 0 ? 1005 : code, isClean ? Buffer.from(reason).toString('utf8') : '', isClean);
  }

  send(data: Part): void {
    const isText = typeof data === 'string';
    this.#socket?.send(
      isText ? utf8(data) : data,
      !isText,
      data.length >= COMPRESS_BYTES_MIN && data.length <= COMPRESS_BYTES_MAX,
    );
  }

  close(code: number, reason: string): void {
    this.#socket?.end(code === 1005 ? 0 : code, utf8(reason));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (this.#held.length > 0 && !this.#paused) {
      const data = this.#held.shift() as Part;
      this.#heldBytes -= data.length + MESSAGE_BYTES;
      this.#events.message(data);
    }
  }

  get bufferedBytes(): number {
    return this.#socket?.getBufferedAmount() ?? 0;
  }
}

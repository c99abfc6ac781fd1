// WebSockets over the `ws` package: answers handshakes, and adapts a connection of the package to the wire of the
// bridge. Loaded on the first handshake. Independent of workers.
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { chosenProtocol, handshakeHeaders } from './handshake.ts';
import type { ResponseHead } from './header-block.ts';
import { countUnfinished } from './unfinished-message.ts';

/** Limits of a listener's WebSockets. */
export interface WebSocketLimits {
  readonly webSocketMessageBytesMax?: number;
  readonly webSocketIdleMs?: number;
}

/** How long a peer may take to answer a close frame. The types of the package do not have this option yet. */
export const closeOptions: object = { closeTimeout: 5000 };
/** Memory of a queued message, in addition to its bytes. Without it, millions of empty messages could accumulate. */
const QUEUED_MESSAGE_BYTES = 512;

const EVENTS = Symbol('events');

type HeardSocket = WebSocket & { [EVENTS]: SocketEvents };

/**
 * The compression that a peer may negotiate. No state is kept between messages, because it would take 300 KB per
 * socket.
 */
export const deflateOptions = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  // How many threads of Node's pool compression may use, because files and DNS also need threads.
  concurrencyLimit: 2,
  threshold: 1024,
  zlibDeflateOptions: { level: 6, memLevel: 7 },
} as const;

/** Answers the handshakes of one listener. */
export interface Upgrader {
  /**
   * Sends 101 with the headers of a worker's response; the worker chooses one of the offered sub-protocols.
   *
   * @param memory counts partial messages.
   * @returns the wire; null if the handshake was refused, and an error was sent.
   */
  upgrade(
    requestBlock: string,
    socket: Duplex,
    first: Buffer,
    head: ResponseHead,
    events: SocketEvents,
    memory: HostMemory | null,
  ): SocketWire | null;
  /** Closes all sockets with a code, and cuts those that do not respond in time. */
  closeAll(code: number, reason: string): void;
  /** Stops the pings. */
  stop(): void;
}

interface Handshake {
  readonly method: string;
  readonly headers: Record<string, string | undefined>;
  readonly head: ResponseHead;
}

export function createUpgrader(limits: WebSocketLimits): Upgrader {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    maxPayload: limits.webSocketMessageBytesMax ?? 32 * 1024 * 1024,
    perMessageDeflate: deflateOptions,
    ...closeOptions,
    handleProtocols: (_offered, request) => {
      const { head, headers } = request as unknown as Handshake;
      return chosenProtocol(head, headers) ?? false;
    },
  });
  server.on('headers', (lines, request) => {
    const { pairs } = (request as unknown as Handshake).head;
    for (let at = 0; at < pairs.length; at += 2) {
      const name = pairs[at] as string;
      if (!name.startsWith('sec-websocket-')) lines.push(`${name}: ${pairs[at + 1] as string}`);
    }
  });
  const silent = new WeakSet<WebSocket>();
  function heard(this: WebSocket): void {
    silent.delete(this);
  }
  const sweep = setInterval(() => {
    for (const socket of server.clients) {
      // A paused socket cannot receive a pong.
      if (socket.isPaused) continue;
      if (silent.has(socket)) socket.terminate();
      else {
        silent.add(socket);
        // The buffer is used only until the next message, because messages are frequent.
        if (socket.listenerCount('message') < 2) socket.once('message', () => silent.delete(socket));
        socket.ping();
      }
    }
  }, limits.webSocketIdleMs ?? 30_000).unref();
  return {
    upgrade(requestBlock, socket, first, head, events, memory) {
      let wire: SocketWire | null = null;
      const request: Handshake = { method: 'GET', headers: handshakeHeaders(requestBlock), head };
      server.handleUpgrade(request as never, socket, first, (opened) => {
        opened.on('pong', heard).on('ping', heard);
        wire = wireOf(opened, events, memory);
      });
      return wire;
    },
    closeAll(code, reason) {
      for (const socket of server.clients) socket.close(code, reason);
    },
    stop: () => clearInterval(sweep),
  };
}

/**
 * Adapts a connection of the package to the bridge.
 *
 * @param memory counts partial messages; a message for which there is no memory ends the connection.
 */
export function wireOf(socket: WebSocket, events: SocketEvents, memory: HostMemory | null): SocketWire {
  if (memory !== null) countUnfinished(socket, memory, events);
  (socket as HeardSocket)[EVENTS] = events;
  // Shared functions, because ten thousand sockets may sleep in an engine.
  socket.on('message', onMessage).on('error', onError).on('close', onClose);
  return new PackageWire(socket);
}

function onMessage(this: WebSocket, data: Buffer, isBinary: boolean): void {
  (this as HeardSocket)[EVENTS].message(isBinary ? ownBytes(data) : data.toString('utf8'));
}

function onError(this: WebSocket, error: Error): void {
  (this as HeardSocket)[EVENTS].failed(error.message);
}

function onClose(this: WebSocket, code: number, reason: Buffer): void {
  (this as HeardSocket)[EVENTS].closed(code, reason.toString('utf8'), code !== 1006);
}

class PackageWire implements SocketWire {
  readonly deflates: boolean;
  readonly #socket: WebSocket;
  #queued = 0;
  #onSent: (() => void) | null = null;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.deflates = socket.extensions !== '';
  }

  send(data: Part): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    this.#queued++;
    socket.send(data, (this.#onSent ??= () => void this.#queued--));
  }

  close(code: number, reason: string): void {
    if (code === 1005) this.#socket.close();
    else this.#socket.close(code, reason);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount + this.#queued * QUEUED_MESSAGE_BYTES;
  }
}

// The data is copied, because a view would cross into the isolate with its whole buffer.
function ownBytes(data: Buffer): Uint8Array {
  return data.byteLength === data.buffer.byteLength ? new Uint8Array(data.buffer) : new Uint8Array(data);
}

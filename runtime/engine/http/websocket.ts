// WebSockets over the `ws` package: answers handshakes, and adapts a connection of the package to the wire of the
// bridge. Loaded on the first handshake. Independent of workers.
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { chosenProtocol, handshakeHeaders } from './handshake.ts';
import type { ResponseHead } from './header-block.ts';

/** Limits of a listener's WebSockets. */
export interface WebSocketLimits {
  readonly webSocketMessageBytesMax?: number;
  readonly webSocketIdleMs?: number;
}

/** How long a peer may take to answer a close frame. The types of the package do not have this option yet. */
export const closeOptions: object = { closeTimeout: 5000 };
/**
 * Overhead of a queued message, in addition to its bytes: a limit in bytes alone would let millions of empty messages
 * accumulate.
 */
const QUEUED_MESSAGE_BYTES = 512;
/** A partial message below this is part of the fixed cost of an open socket. */
const UNFINISHED_BYTES_MIN = 64 * 1024;
/** Overhead of a message fragment, in bytes. */
const PIECE_BYTES = 256;

/** Compression that a peer may negotiate; no state is kept between messages, which would take 300 KB per socket. */
export const deflateOptions = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  // Threads of Node's pool, which files and DNS need too.
  concurrencyLimit: 2,
  threshold: 1024,
  zlibDeflateOptions: { level: 6, memLevel: 7 },
} as const;

/** Answers handshakes of one listener. */
export interface Upgrader {
  /**
   * Sends 101 with the headers of a worker's response; the worker chooses one of the offered sub-protocols.
   *
   * @param memory counts partial messages.
   * @returns the wire; null if the handshake was refused after all, which has been answered.
   */
  upgrade(
    requestBlock: string,
    socket: Duplex,
    first: Buffer,
    head: ResponseHead,
    events: SocketEvents,
    memory: HostMemory | null,
  ): SocketWire | null;
  /** Closes every socket with a code, and cuts sockets that do not respond in time. */
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
        const heard = (): void => void silent.delete(opened);
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
 * @param memory counts partial messages: a message that exceeds it ends the connection.
 */
export function wireOf(socket: WebSocket, events: SocketEvents, memory: HostMemory | null): SocketWire {
  if (memory !== null) countUnfinished(socket, memory, (error) => events.failed(error.message));
  let queued = 0;
  const onSent = (): void => void queued--;
  socket.on('message', (data: Buffer, isBinary) => events.message(isBinary ? ownBytes(data) : data.toString('utf8')));
  socket.on('error', (error) => events.failed(error.message));
  socket.on('close', (code, reason) => events.closed(code, reason.toString('utf8'), code !== 1006));
  return {
    send(data) {
      if (socket.readyState !== socket.OPEN) return;
      queued++;
      socket.send(data, onSent);
    },
    close(code, reason) {
      if (code === 1005) socket.close();
      else socket.close(code, reason);
    },
    deflates: socket.extensions !== '',
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    get bufferedBytes() {
      return socket.bufferedAmount + queued * QUEUED_MESSAGE_BYTES;
    },
  };
}

/** The package's message parser, with only the parts that are used here. */
interface Receiver {
  /** Bytes of the partial message, inflated. */
  readonly _messageLength: number;
  /** Bytes of the partial frame, and the chunks that they came in. */
  readonly _bufferedBytes: number;
  readonly _buffers: readonly Buffer[];
  /** Whole frames of the message under way. */
  readonly _fragments: Buffer[];
  /** Whether the frame is the last one of its message. */
  readonly _fin: boolean;
  /** Takes bytes of the connection. */
  _write(chunk: Buffer, encoding: string, done: () => void): void;
  /** A frame of a message is complete. */
  dataMessage(done: () => void): void;
}

/**
 * Counts the memory of a message before it is complete. The package has no event for it, and 1 KB from a peer can
 * inflate to 1 MB, so its parser is observed.
 */
function countUnfinished(socket: WebSocket, memory: HostMemory, refused: (error: Error) => void): void {
  const receiver = (socket as unknown as { readonly _receiver: Receiver })._receiver;
  const { _write, dataMessage } = receiver;
  let held = 0;
  let isOver = false;
  const count = (): void => {
    if (isOver) return;
    const { _messageLength: inflated, _bufferedBytes: raw, _buffers, _fragments } = receiver;
    const taken = inflated + raw + (_buffers.length + _fragments.length) * PIECE_BYTES;
    const bytes = taken < UNFINISHED_BYTES_MIN ? 0 : taken;
    if (bytes === held) return;
    if (bytes < held) {
      memory.release(held - bytes);
      held = bytes;
      return;
    }
    try {
      memory.reserve(bytes - held, 'A WebSocket message');
      held = bytes;
    } catch (error) {
      isOver = true;
      refused(error as Error);
      socket.close(1013, 'Too much memory');
      socket.terminate();
    }
  };
  receiver._write = (chunk, encoding, done) => {
    _write.call(receiver, chunk, encoding, done);
    count();
  };
  receiver.dataMessage = (done) => {
    const { _fragments, _fin } = receiver;
    const last = _fragments.at(-1);
    // As a view, a frame of one byte would keep the whole chunk in memory: 64 KB.
    if (!_fin && last !== undefined && last.byteLength < last.buffer.byteLength) {
      _fragments[_fragments.length - 1] = Buffer.allocUnsafeSlow(last.byteLength);
      last.copy(_fragments.at(-1)!);
    }
    dataMessage.call(receiver, done);
    count();
  };
  socket.once('close', () => {
    isOver = true;
    memory.release(held);
  });
}

// A view into a larger buffer would be copied into the isolate as a whole.
function ownBytes(data: Buffer): Uint8Array {
  return data.byteLength === data.buffer.byteLength ? new Uint8Array(data.buffer) : new Uint8Array(data);
}

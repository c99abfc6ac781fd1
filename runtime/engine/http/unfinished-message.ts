// Counts the memory of a WebSocket message before it is complete. The `ws` package has no event for it, and 1 KB from a
// peer can inflate to 1 MB, so its parser is observed. Used by websocket.ts.
import type { WebSocket } from 'ws';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents } from '../bridge/sockets.ts';

/** A partial message below this is part of the fixed cost of an open socket. */
const UNFINISHED_BYTES_MIN = 64 * 1024;
/** Overhead of a message fragment, in bytes. */
const PIECE_BYTES = 256;

const UNFINISHED = Symbol('unfinished message');

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

type CountedReceiver = Receiver & { [UNFINISHED]: UnfinishedMessage };

/**
 * Counts the partial messages of a connection. A message that exceeds the memory ends the connection.
 *
 * @param events gets the reason.
 */
export function countUnfinished(socket: WebSocket, memory: HostMemory, events: SocketEvents): void {
  const { _receiver: receiver } = socket as unknown as { readonly _receiver: CountedReceiver };
  receiver[UNFINISHED] = new UnfinishedMessage(socket, receiver, memory, events);
  receiver._write = write;
  receiver.dataMessage = dataMessage;
  socket.on('close', onClose);
}

function write(this: CountedReceiver, chunk: Buffer, encoding: string, done: () => void): void {
  parserOf(this)._write.call(this, chunk, encoding, done);
  this[UNFINISHED].count();
}

function dataMessage(this: CountedReceiver, done: () => void): void {
  const { _fragments, _fin } = this;
  const last = _fragments.at(-1);
  // As a view, a frame of one byte would keep the whole chunk in memory: 64 KB.
  if (!_fin && last !== undefined && last.byteLength < last.buffer.byteLength) {
    _fragments[_fragments.length - 1] = Buffer.allocUnsafeSlow(last.byteLength);
    last.copy(_fragments.at(-1)!);
  }
  parserOf(this).dataMessage.call(this, done);
  this[UNFINISHED].count();
}

/** The package's own methods. */
function parserOf(receiver: Receiver): Receiver {
  return Object.getPrototypeOf(receiver) as Receiver;
}

function onClose(this: WebSocket): void {
  (this as unknown as { readonly _receiver: CountedReceiver })._receiver[UNFINISHED].end();
}

class UnfinishedMessage {
  readonly #socket: WebSocket;
  readonly #receiver: Receiver;
  readonly #memory: HostMemory;
  readonly #events: SocketEvents;
  #held = 0;
  #isOver = false;

  constructor(socket: WebSocket, receiver: Receiver, memory: HostMemory, events: SocketEvents) {
    this.#socket = socket;
    this.#receiver = receiver;
    this.#memory = memory;
    this.#events = events;
  }

  count(): void {
    if (this.#isOver) return;
    const { _messageLength: inflated, _bufferedBytes: raw, _buffers, _fragments } = this.#receiver;
    const taken = inflated + raw + (_buffers.length + _fragments.length) * PIECE_BYTES;
    const bytes = taken < UNFINISHED_BYTES_MIN ? 0 : taken;
    if (bytes === this.#held) return;
    if (bytes < this.#held) {
      this.#memory.release(this.#held - bytes);
      this.#held = bytes;
      return;
    }
    try {
      this.#memory.reserve(bytes - this.#held, 'A WebSocket message');
      this.#held = bytes;
    } catch (error) {
      this.#isOver = true;
      this.#events.failed((error as Error).message);
      this.#socket.close(1013, 'Too much memory');
      this.#socket.terminate();
    }
  }

  end(): void {
    this.#isOver = true;
    this.#memory.release(this.#held);
    this.#held = 0;
  }
}

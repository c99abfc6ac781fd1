// One end of a WebSocket between two engines: messages are sent in pieces, as frames of their link, with credit in both
// directions. The engine that has a durable object creates one in received-exchange.ts, and the engine with the client
// in forwarder.ts.
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { EngineLink } from './engine-link.ts';
import {
  CREDIT,
  SOCKET_BYTES,
  SOCKET_CLOSE,
  SOCKET_PIECE,
  SOCKET_TEXT,
  WINDOW_BYTES,
  type FrameReader,
} from './frames.ts';

/** A message is sent in pieces of this size. */
const PIECE_BYTES = 256 * 1024;
const REASON_CHARS_MAX = 123;
const decoder = new TextDecoder();

export class LinkedWire implements SocketWire {
  readonly #link: EngineLink;
  readonly #exchange: number;
  readonly #onOver: () => void;
  #events: SocketEvents | null = null;
  #pieces: Uint8Array[] = [];
  #waiting: Part[] = [];
  #paused = false;
  /** Number of sent bytes that the other end has not received yet. */
  #unsent = 0;
  #isOver = false;
  #closing: { readonly code: number; readonly reason: string } | null = null;
  /** Called when the other end has received enough to accept more. */
  onDrain: (() => void) | null = null;

  /** @param onOver called once, when no further messages come. */
  constructor(link: EngineLink, exchange: number, onOver: () => void) {
    this.#link = link;
    this.#exchange = exchange;
    this.#onOver = onOver;
  }

  attach(events: SocketEvents): void {
    this.#events = events;
  }

  send(data: Part): void {
    if (this.#isOver) return;
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    this.#unsent += bytes.byteLength;
    let at = 0;
    for (; bytes.byteLength - at > PIECE_BYTES; at += PIECE_BYTES)
      this.#link.sayBytes(SOCKET_PIECE, this.#exchange, bytes.subarray(at, at + PIECE_BYTES));
    this.#link.sayBytes(typeof data === 'string' ? SOCKET_TEXT : SOCKET_BYTES, this.#exchange, bytes.subarray(at));
  }

  close(code: number, reason: string): void {
    if (this.#isOver) return;
    const { writer } = this.#link;
    const text = reason.slice(0, REASON_CHARS_MAX);
    writer.begin(SOCKET_CLOSE, this.#exchange, 8 + text.length * 3);
    writer.number(code);
    writer.string(text);
    writer.end();
    this.#link.flush();
    // The end is handled like a completed closing handshake, but later, because the caller may be iterating over its
    // sockets.
    queueMicrotask(() => this.#over(code, reason, true));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (!this.#paused && this.#waiting.length > 0) this.#deliver(this.#waiting.shift()!);
    if (this.#waiting.length === 0 && this.#closing !== null)
      this.#over(this.#closing.code, this.#closing.reason, true);
  }

  get bufferedBytes(): number {
    return this.#unsent;
  }

  /** Whether further messages should wait for `onDrain`. */
  get isFull(): boolean {
    return this.#unsent > WINDOW_BYTES;
  }

  /** Handles a frame from the other end. @throws {Error} for a frame that does not belong to a socket. */
  read(frame: FrameReader): void {
    switch (frame.kind) {
      case SOCKET_PIECE:
        // The frame is a view of memory that will be overwritten, so it is copied.
        this.#pieces.push(new Uint8Array(frame.bytes()));
        return;
      case SOCKET_TEXT:
      case SOCKET_BYTES: {
        const last = new Uint8Array(frame.bytes());
        const bytes = this.#pieces.length === 0 ? last : new Uint8Array(Buffer.concat([...this.#pieces, last]));
        this.#pieces = [];
        const data = frame.kind === SOCKET_TEXT ? decoder.decode(bytes) : bytes;
        if (this.#paused || this.#waiting.length > 0) this.#waiting.push(data);
        else this.#deliver(data);
        return;
      }
      case SOCKET_CLOSE: {
        this.#closing = { code: frame.number(), reason: frame.string() };
        if (this.#waiting.length === 0) this.#over(this.#closing.code, this.#closing.reason, true);
        return;
      }
      case CREDIT:
        this.#unsent = Math.max(0, this.#unsent - frame.number());
        if (!this.isFull) this.onDrain?.();
        return;
      default:
        throw new Error(`unknown frame kind ${frame.kind}`);
    }
  }

  #deliver(data: Part): void {
    if (this.#isOver) return;
    this.#events?.message(data);
    const bytes = typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength;
    this.#link.sayNumber(CREDIT, this.#exchange, bytes);
  }

  /** Called when the other engine has exited. */
  lost(): void {
    this.#over(1006, '', false);
  }

  #over(code: number, reason: string, clean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#waiting.length = 0;
    this.#onOver();
    this.#events?.closed(code, reason, clean);
  }
}

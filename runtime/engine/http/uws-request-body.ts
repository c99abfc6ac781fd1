// The body of one request on uWebSockets.js: buffered until it is read, while the socket is paused. Created by
// uws-exchange.ts for requests with a body.
import type { BodySink } from './listener.ts';

/** Time after which a paused socket with a slow client reads again. */
const RESUME_MS = 10;
/** Unread bodies up to this size are read and dropped, so that the connection can be reused. */
const DRAIN_BYTES_MAX = 64 * 1024;

/** The state of the exchange that its body needs. */
export interface UwsBodyExchange {
  /** Whether the response is complete, so that the rest of the body is not needed. */
  readonly isAnswered: boolean;
  /** Whether the kernel has accepted the response, or the connection is closed. */
  readonly isOver: boolean;
  /** Whether the client reads the response more slowly than it is sent. */
  readonly waitsForClient: boolean;
  /** Called when the body exceeds its limit. */
  bodyTooLarge(limit: number): void;
}

/** Pauses and resumes a socket. */
interface PausableSocket {
  pause(): unknown;
  resume(): unknown;
}

export class UwsRequestBody {
  #exchange: UwsBodyExchange;
  #socket: PausableSocket;
  /** Declared length; -1 = unknown. */
  #declaredBytes: number;
  #bytesMax: number;
  #sink: BodySink | null = null;
  /** Data that arrived before the body was read, or while the reader pauses. */
  #held: Uint8Array[] | null = null;
  #readerPauses = false;
  /** Whether the socket will be paused in the next tick. */
  #isPausing = false;
  /** Whether the library has stopped reading from the socket. */
  #isPaused = false;
  #hasEnded = false;
  #endTold = false;
  #receivedBytes = 0;

  constructor(exchange: UwsBodyExchange, socket: PausableSocket, declaredBytes: number, bytesMax: number) {
    this.#exchange = exchange;
    this.#socket = socket;
    this.#declaredBytes = declaredBytes;
    this.#bytesMax = bytesMax;
  }

  read(sink: BodySink): void {
    if (this.#sink !== null) return;
    this.#sink = sink;
    this.#feed();
  }

  /** Called when the reader accepts more data again. */
  resume(): void {
    if (this.#sink === null || !this.#readerPauses) return;
    this.#readerPauses = false;
    this.#feed();
  }

  receive(chunk: ArrayBuffer, isLast: boolean): void {
    this.#hasEnded = isLast;
    if (this.#exchange.isAnswered) return;
    this.#receivedBytes += chunk.byteLength;
    if (this.#receivedBytes > this.#bytesMax) {
      this.#exchange.bodyTooLarge(this.#bytesMax);
      return;
    }
    // The library detaches the buffer when this call returns.
    const bytes = chunk.byteLength > 0 ? new Uint8Array(chunk.slice(0)) : null;
    if (this.#held === null && (this.#sink === null || this.#readerPauses)) {
      if (isLast) this.#held = [];
      else this.#hold();
    }
    if (this.#held !== null) {
      if (bytes !== null) this.#held.push(bytes);
      if (this.#sink !== null && !this.#readerPauses) this.#feed();
      else if (!isLast) this.#pauseSoon();
      return;
    }
    if (bytes !== null && !this.#sink!.chunk(bytes)) {
      this.#readerPauses = true;
      this.#held = [];
      if (!isLast) this.#pauseSoon();
      return;
    }
    if (isLast && !this.#exchange.isAnswered) this.#feed();
  }

  /** Whether the unread part is so large that reading it costs more than a new connection. */
  get unreadIsMuch(): boolean {
    if (this.#hasEnded) return false;
    return this.#declaredBytes < 0 || this.#declaredBytes - this.#receivedBytes > DRAIN_BYTES_MAX;
  }

  /**
   * Discards the rest.
   *
   * @param isAnswered whether the connection serves the next request, which a paused socket would not read.
   */
  drop(isAnswered: boolean): void {
    if (isAnswered && !this.#hasEnded) this.#resumeReading();
    this.#held = null;
  }

  /** Delivers buffered chunks, then lets the socket read again. */
  #feed(): void {
    const exchange = this.#exchange;
    while (this.#held !== null && !this.#readerPauses && !exchange.isAnswered) {
      const bytes = this.#held.shift();
      if (bytes === undefined) {
        this.#held = null;
        if (!this.#hasEnded) this.#resumeReading();
        break;
      }
      if (!this.#sink!.chunk(bytes)) this.#readerPauses = true;
    }
    if (this.#hasEnded && this.#held === null && !this.#endTold && !exchange.isAnswered) {
      this.#endTold = true;
      this.#sink!.end();
    } else if (this.#readerPauses && this.#held === null && !this.#hasEnded) {
      this.#hold();
    }
  }

  #hold(): void {
    this.#held = [];
    this.#pauseSoon();
  }

  /**
   * Pauses the socket, but not in the library's own callback, because data that is written there is sent when it
   * returns. The library does not always report a paused socket with a slow client as writable, so it resumes from time
   * to time.
   */
  #pauseSoon(): void {
    if (this.#isPausing) return;
    this.#isPausing = true;
    setImmediate(() => {
      this.#isPausing = false;
      if (!this.#isHolding()) return;
      this.#socket.pause();
      this.#isPaused = true;
      if (!this.#exchange.waitsForClient) return;
      setTimeout(() => this.#isHolding() && this.#exchange.waitsForClient && this.#resumeReading(), RESUME_MS);
    });
  }

  /** Resuming a socket that is not paused makes it stop reading. */
  #resumeReading(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #isHolding(): boolean {
    return this.#held !== null && !this.#hasEnded && !this.#exchange.isOver;
  }
}

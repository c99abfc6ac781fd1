// The body of one request on uWebSockets.js: held while nobody reads it, with the socket paused. Made by
// uws-exchange.ts for requests that have one.
import type { BodySink } from './listener.ts';

/** After which a socket that is paused while its client is slow reads again. */
const RESUME_MS = 10;
/** Unread bodies up to this size are read and dropped, so that the connection can be used again. */
const DRAIN_BYTES_MAX = 64 * 1024;

/** The exchange, as far as its body depends on it. */
export interface UwsBodyExchange {
  /** Nothing of the body is wanted any more: the response is complete. */
  readonly isAnswered: boolean;
  /** The response is with the kernel, or the connection is gone. */
  readonly isOver: boolean;
  /** The client is slower than the response. */
  readonly waitsForClient: boolean;
  /** More of the body came than may. */
  bodyTooLarge(limit: number): void;
}

/** What pauses and resumes a socket. */
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
  /** What arrived before it was asked for, or while the reader pauses. */
  #held: Uint8Array[] | null = null;
  #readerPauses = false;
  /** The socket is to be paused in the next turn. */
  #isPausing = false;
  /** The library reads no more from it. */
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

  /** Its reader takes more again. */
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

  /** Whether too much of it is left to read it only for the connection's sake. */
  get unreadIsMuch(): boolean {
    if (this.#hasEnded) return false;
    return this.#declaredBytes < 0 || this.#declaredBytes - this.#receivedBytes > DRAIN_BYTES_MAX;
  }

  /**
   * Nobody wants the rest.
   *
   * @param isAnswered the connection serves the next request: a paused socket would not read it.
   */
  drop(isAnswered: boolean): void {
    if (isAnswered && !this.#hasEnded) this.#resumeReading();
    this.#held = null;
  }

  /** Hands on what is held, then lets the socket read again. */
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
   * Lets the socket read no more, and not in the library's own callback: what is written there goes out when it
   * returns. A paused socket whose client is slow is not always told that it may write again, so it resumes now and
   * then.
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

  /** A socket that is not paused must not be resumed: it would read no more. */
  #resumeReading(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #isHolding(): boolean {
    return this.#held !== null && !this.#hasEnded && !this.#exchange.isOver;
  }
}

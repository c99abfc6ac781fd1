// A worker's fetch to another worker of this platform, as an exchange for the handler without a socket. Made by
// platform-hosts.ts.
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { HeldBytes, HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { hasBody, headerIn, type HeadCache } from './header-block.ts';
import type { BodySink, Callee, Exchange } from './listener.ts';
import { NO_ADDRESS } from './session-exchange.ts';
import { createSocketPair } from './socket-pair.ts';

/** Header with the number of hops between workers of this platform. */
export const HOPS_HEADER = 'x-platform-hops';
export const HOPS_MAX = 16;
/** Code of the error for a cycle of requests or calls of objects. */
export const LOOP_REASON = `Workers of this platform have passed the request on ${HOPS_MAX} times: they fetch each other`;
/** Headers that the exchange or the platform sets. */
const OWN_HEADERS = /^(?:host|content-length|x-platform-hops)$/;

/** A request from a worker. */
interface LoopbackRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly body: Uint8Array | string | Readable | null;
  readonly bodyBytesMax: number;
  readonly isOfObject?: boolean;
  /** Set for a call of a service binding. */
  readonly callee?: Callee;
  /** Opens the caller's end of a WebSocket; absent or null if the caller does not request one. */
  readonly socket?: { open(): SocketEvents & { attach(wire: SocketWire, isUnread: boolean): void } } | null;
}

/** The response, whose `body` may be cancelled. */
class LoopbackResponse implements FetchedResponse {
  readonly statusCode: number;
  readonly statusText = '';
  readonly headers: readonly string[];
  readonly whole: Uint8Array | null | undefined;
  #body: Readable | null;

  /** @param body the complete body, or a stream. */
  constructor(statusCode: number, headers: readonly string[], body: Uint8Array | Readable | null) {
    const isStream = body instanceof Readable;
    [this.statusCode, this.headers] = [statusCode, headers];
    [this.whole, this.#body] = isStream ? [undefined, body] : [body, null];
  }

  get body(): Readable {
    return (this.#body ??= Readable.from(this.whole == null ? [] : [this.whole]));
  }
}

/** How many bytes of a response are read ahead; a complete body of at most this size needs no stream. */
const READ_BYTES = 64 * 1024;
const encoder = new TextEncoder();

export class LoopbackExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly remoteAddress = NO_ADDRESS;
  readonly isOfObject: boolean;
  readonly bodyBytes: number;
  readonly callee: Callee | null;
  requestId = '';
  refusedCookies = '';
  sentBytes = 0;
  memory: HostMemory | null = null;
  onAbort: (() => void) | null = null;
  onDrain: (() => void) | null = null;
  /** Rejects if the response is cut before its head. */
  readonly answer: Promise<LoopbackResponse>;
  #resolve: (answer: LoopbackResponse) => void;
  #reject: (error: Error) => void;
  #heads: HeadCache;
  #socket: LoopbackRequest['socket'];
  #given: Readable | Uint8Array | null;
  #bodyBytesMax: number;
  #body: Readable | null = null;
  #unsent: HeldBytes | null = null;
  #isOver = false;

  constructor(request: LoopbackRequest, heads: HeadCache) {
    const { body } = request;
    ({ method: this.method, target: this.target, host: this.host, headerBlock: this.headerBlock } = request);
    this.isOfObject = request.isOfObject === true;
    this.callee = request.callee ?? null;
    this.#socket = request.socket ?? null;
    this.#heads = heads;
    this.#bodyBytesMax = request.bodyBytesMax;
    this.#given = typeof body === 'string' ? Buffer.from(body) : body;
    this.bodyBytes = this.#given === null ? 0 : this.#given instanceof Uint8Array ? this.#given.byteLength : -1;
    const { promise, resolve, reject } = Promise.withResolvers<LoopbackResponse>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  header(name: string): string | null {
    return headerIn(this.headerBlock, name);
  }

  readBody(sink: BodySink): void {
    const given = this.#given;
    if (given instanceof Readable) this.#pump(given, sink);
    else
      queueMicrotask(() => {
        if (this.#isOver) return;
        // The chunk is copied, because the reader keeps it, and the memory has other users.
        if (given !== null && given.byteLength > 0) sink.chunk(new Uint8Array(given));
        sink.end();
      });
  }

  resumeBody(): void {
    if (this.#given instanceof Readable) this.#given.resume();
  }

  send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer = false): void {
    if (this.#isOver || this.#body !== null) return;
    const bytes =
      body === null ? null : typeof body === 'string' ? encoder.encode(body) : transfer ? body : body.slice();
    const isSent = bytes !== null && bytes.byteLength > 0 && hasBody(this.method, status);
    const length = bytes === null ? [] : ['content-length', String(bytes.byteLength)];
    if (!isSent || bytes.byteLength <= READ_BYTES) {
      this.#isOver = true;
      this.sentBytes += isSent ? bytes.byteLength : 0;
      if (this.#given instanceof Readable) this.#given.destroy();
      this.#resolve(new LoopbackResponse(status, this.#headersOf(headerBlock, length), isSent ? bytes : null));
      return;
    }
    this.#open(status, headerBlock, length);
    this.#hold(bytes.byteLength);
    if (!this.#isOver) this.#push(bytes);
    this.end();
  }

  begin(status: number, headerBlock: string): void {
    if (!this.#isOver && this.#body === null) this.#open(status, headerBlock, []);
  }

  write(chunk: Uint8Array | string): boolean {
    if (this.#isOver || this.#body === null || chunk.length === 0) return true;
    return this.#push(Buffer.from(chunk as Uint8Array));
  }

  end(): void {
    if (this.#isOver || this.#body === null) return;
    this.#isOver = true;
    this.#body.push(null);
  }

  /** Joins the worker's socket with that of the caller; a fetch by URL has no socket. */
  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null {
    if (this.#socket == null || this.#isOver) return null;
    const [wire, inner] = createSocketPair();
    inner.memory = this.memory;
    const caller = this.#socket.open();
    this.#open(101, headerBlock, []);
    this.end();
    // The caller reads the socket, or joins it with that of its own client.
    wire.isUnread = true;
    caller.attach(wire, true);
    // The bridge sends no messages before its wire is attached.
    setImmediate(() => inner.attach(events));
    return inner;
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = new PlatformError('fetch_failed', { reason: `fetch failed: ${this.host} cut the connection` });
    if (this.#body === null) this.#reject(error);
    else this.#body.destroy(error);
  }

  /** Called when the caller no longer needs the response. */
  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reject(reason);
    this.#body?.destroy(reason);
    this.onAbort?.();
  }

  #open(status: number, headerBlock: string, length: readonly string[]): void {
    const body = new Readable({ highWaterMark: READ_BYTES, read: () => this.onDrain?.() });
    body.on('error', () => {});
    body.once('close', () => {
      if (this.#unsent !== null) this.#unsent.bytes = 0;
      if (this.#given instanceof Readable) this.#given.destroy();
      this.abort(new Error('The response is not read'));
    });
    this.#body = body;
    this.#resolve(new LoopbackResponse(status, this.#headersOf(headerBlock, length), body));
  }

  /** @param length value of the length header; empty if the worker declared none. */
  #headersOf(headerBlock: string, length: readonly string[]): string[] {
    const { pairs, hasRequestId, declaredBytes } = this.#heads.get(headerBlock, this);
    const id = hasRequestId || this.requestId === '' ? [] : ['x-request-id', this.requestId];
    const declared = length.length === 0 && declaredBytes >= 0 ? ['content-length', String(declaredBytes)] : length;
    return [...pairs, ...declared, ...id];
  }

  /**
   * The body is sent in pieces, as from a network, because the credit of a single piece that fills the window of a
   * stream would never return.
   */
  #push(bytes: Uint8Array): boolean {
    let goesOn = true;
    this.sentBytes += bytes.byteLength;
    for (let at = 0; at < bytes.byteLength; at += READ_BYTES)
      goesOn = this.#body!.push(bytes.subarray(at, at + READ_BYTES));
    return goesOn;
  }

  /** Counts the unread bytes of a complete response. */
  #hold(bytes: number): void {
    const { memory } = this;
    if (memory === null) return;
    if (memory.hasRoom(bytes)) (this.#unsent = memory.count()).bytes = bytes;
    else this.destroy();
  }

  #pump(given: Readable, sink: BodySink): void {
    let bytes = 0;
    given.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (this.#isOver) return;
      if (bytes > this.#bodyBytesMax) {
        this.#refuseBody();
        return;
      }
      if (!sink.chunk(new Uint8Array(chunk))) given.pause();
    });
    void once(given, 'end').then(
      () => !this.#isOver && sink.end(),
      (error: Error) => this.abort(error),
    );
  }

  #refuseBody(): void {
    const { onAbort } = this;
    this.onAbort = null;
    this.abort(
      new PlatformError('fetch_failed', {
        reason: `fetch failed: The request body is larger than ${this.#bodyBytesMax} bytes`,
      }),
    );
    onAbort?.();
  }
}

/**
 * Serves a request in this process. @returns the response like that of a fetch; rejects if it was cut before its head,
 * or with the error that `serve` throws.
 */
export async function answerInside(
  exchange: LoopbackExchange,
  signal: AbortSignal,
  serve: (exchange: Exchange) => void,
): Promise<FetchedResponse> {
  const onAbort = (): void => exchange.abort(new Error('The request was aborted', { cause: signal.reason }));
  const over = (): void => signal.removeEventListener('abort', onAbort);
  signal.addEventListener('abort', onAbort);
  // The caller's isolate may also be the one that responds, so it must finish its current records first.
  setImmediate(() => {
    try {
      if (signal.aborted) onAbort();
      else serve(exchange);
    } catch (error) {
      exchange.abort(error as Error);
    }
  });
  try {
    const response = await exchange.answer;
    if (response.whole === undefined) response.body.once('close', over);
    else over();
    return response;
  } catch (error) {
    over();
    throw error;
  }
}

/** The header block of a request to `host`, at a hop. @param headers names and values, alternating */
export function insideBlock(
  host: string,
  hop: number,
  headers: readonly string[],
  body: LoopbackRequest['body'],
): string {
  let block = `host\0${host}\0${HOPS_HEADER}\0${hop}\0`;
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (!OWN_HEADERS.test(headers[at]!)) block += `${headers[at]}\0${headers[at + 1]}\0`;
  if (body !== null && !(body instanceof Readable)) block += `content-length\0${Buffer.byteLength(body)}\0`;
  return block;
}

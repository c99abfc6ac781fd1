// One request on uWebSockets.js and its response. Created by listener-uws.ts; the handler uses it through `Exchange`.
// The native response object is invalid after the response or the connection has ended, and every write must happen
// inside a cork.
import type { UwsResponse } from './uws-module.ts';
import { freeBuffer } from '#core/free-buffers.ts';
import { errorMessage, errorTable, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { HeldBytes, HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { chosenProtocol, handshakeHeaders } from './handshake.ts';
import { hasBody, headerIn, type HeadCache, type ResponseHead } from './header-block.ts';
import type { BodySink, Exchange, ListenerOptions } from './listener.ts';
import type { ClientAddresses } from './uws-address.ts';
import type { CorkHolder } from './uws-cork.ts';
import { UwsRequestBody, type UwsBodyExchange } from './uws-request-body.ts';
import { UwsWire } from './uws-socket.ts';
import { latin1, utf8 } from './uws-text.ts';

/** State shared by all exchanges of a listener. */
export interface UwsListenerState {
  readonly options: ListenerOptions;
  readonly heads: HeadCache;
  readonly addresses: ClientAddresses;
  draining: boolean;
  /** Number of exchanges whose response the kernel has not fully taken. */
  running: number;
  /** Called when `running` falls to zero while draining. */
  onQuiet: (() => void) | null;
  /**
   * The exchange that is currently being accepted. Meanwhile, the library has corked its socket, and cannot lose it.
   */
  accepting: UwsExchange | null;
  /** The cork inside which data is written to sockets that become a WebSocket. */
  readonly holder: CorkHolder;
  /** Open WebSockets. */
  readonly sockets: Set<UwsWire>;
  /** Maximum size of the messages that wait for a slow worker. */
  readonly waitingBytesMax: number;
}

/** Bodies above this size are sent in pieces as the client reads, instead of being copied into the library's buffer. */
const WHOLE_BYTES_MAX = 64 * 1024;

const { STATUS_CODES } = process.getBuiltinModule('node:http');
const STATUS_TEXTS: string[] = Array.from({ length: 600 }, (_, status) => `${status} ${STATUS_CODES[status] ?? ''}`);

// States of the response. `flushing` means that the handler has ended the response, but the kernel has not taken all of
// it.
const OPEN = 0;
const STREAMING = 1;
const FLUSHING = 2;
const ENDED = 3;
const GONE = 4;

export class UwsExchange implements Exchange, UwsBodyExchange {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headerBlock: string;
  readonly bodyBytes: number;
  requestId = '';
  memory: HostMemory | null = null;
  refusedCookies = '';
  sentBytes = 0;
  onAbort: (() => void) | null = null;
  onDrain: (() => void) | null = null;

  readonly #listener: UwsListenerState;
  readonly #native: UwsResponse;
  #state = OPEN;
  /** Null without one. */
  readonly #body: UwsRequestBody | null;
  #closes = false;
  #clientCloses = false;
  #remoteAddress: string | null = null;
  #upgradeContext: object | null = null;
  #sendsBody = true;
  /** The content-length of a streamed response; -1 if it has none. */
  #totalBytes = -1;
  #owedBytes = -1;
  /** The rest of a chunk that the socket did not take. */
  #tail: Uint8Array | null = null;
  /** Memory for the bytes of a complete body that the client has not received. */
  #unsent: HeldBytes | null = null;
  #waits = false;
  /** A complete body that may be freed when it is sent. */
  #transferred: Uint8Array | null = null;

  constructor(
    listener: UwsListenerState,
    native: UwsResponse,
    method: string,
    target: string,
    host: string,
    headerBlock: string,
    bodyBytes: number,
  ) {
    this.method = method;
    this.target = target;
    this.host = host;
    this.headerBlock = headerBlock;
    this.bodyBytes = bodyBytes;
    this.#body =
      bodyBytes === 0 ? null : new UwsRequestBody(this, native, bodyBytes, listener.options.limits.bodyBytesMax);
    this.#listener = listener;
    this.#native = native;
    listener.running++;
  }

  /**
   * Registers the native events if the response is not complete yet; must happen before the native request callback
   * returns.
   */
  attach(): void {
    if (this.#state >= ENDED) return;
    this.#native.onAborted(() => this.#aborted());
    const body = this.#body;
    if (body !== null) this.#native.onData((chunk, isLast) => body.receive(chunk, isLast));
  }

  get remoteAddress(): string {
    return (this.#remoteAddress ??= this.#state >= ENDED ? '' : this.#listener.addresses.of(this.#native));
  }

  header(name: string): string | null {
    return headerIn(this.headerBlock, name);
  }

  readBody(sink: BodySink): void {
    if (this.#state >= FLUSHING) return;
    if (this.#body === null) sink.end();
    else this.#body.read(sink);
  }

  resumeBody(): void {
    if (this.#state < FLUSHING) this.#body?.resume();
  }

  /** Used by the exchange's body. */
  get isAnswered(): boolean {
    return this.#state >= FLUSHING;
  }

  /** Used by the exchange's body. */
  get isOver(): boolean {
    return this.#state >= ENDED;
  }

  /** Used by the exchange's body. */
  get waitsForClient(): boolean {
    return this.#waits;
  }

  /** Used by the exchange's body. */
  bodyTooLarge(limit: number): void {
    const abort = this.onAbort;
    if (this.#state === OPEN) this.refuse('body_too_large', { limit });
    else this.destroy();
    abort?.();
  }

  send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer = false): void {
    if (this.#state !== OPEN) return;
    const head = this.#listener.heads.ofAnswer(status, headerBlock, this);
    if (this.#body?.unreadIsMuch === true || this.#listener.draining) this.#closes = true;
    if (this.#listener.accepting === this) this.#writeWhole(status, head, body, transfer);
    else this.#native.cork(() => this.#writeWhole(status, head, body, transfer));
  }

  #writeWhole(status: number, head: ResponseHead, body: string | Uint8Array | null, transfer: boolean): void {
    const native = this.#native;
    this.#writeHead(status, head);
    if (!hasBody(this.method, status)) {
      const bytes =
        body !== null ? (typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength) : head.declaredBytes;
      this.#finish(ENDED);
      this.#endWithoutBody(status === 204 ? -1 : bytes, this.#closes);
      return;
    }
    if (body === null || body.length <= WHOLE_BYTES_MAX || this.#closes) {
      const sent = typeof body === 'string' ? utf8(body) : (body ?? '');
      this.sentBytes = sent.length;
      this.#finish(ENDED);
      native.end(sent, this.#closes);
      return;
    }
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    if (transfer) this.#transferred = bytes;
    this.#totalBytes = bytes.byteLength;
    this.sentBytes = bytes.byteLength;
    this.#state = FLUSHING;
    native.onWritable(() => this.#writable());
    this.#push(bytes);
    if (this.#state === FLUSHING && this.memory !== null) this.#countUnsent(bytes.byteLength, this.memory);
  }

  #countUnsent(bytes: number, memory: HostMemory): void {
    if (memory.hasRoom(bytes)) (this.#unsent = memory.count()).bytes = bytes;
    else {
      this.#finish(GONE);
      this.#native.close();
    }
  }

  begin(status: number, headerBlock: string): void {
    if (this.#state !== OPEN) return;
    const head = this.#listener.heads.ofAnswer(status, headerBlock, this);
    this.#sendsBody = hasBody(this.method, status);
    this.#totalBytes = status === 204 ? -1 : head.declaredBytes;
    this.#owedBytes = this.#totalBytes;
    this.#state = STREAMING;
    this.#native.cork(() => {
      this.#writeHead(status, head);
      if (!this.#sendsBody) return;
      this.#native.onWritable(() => this.#writable());
    });
  }

  write(chunk: Uint8Array | string, transfer = false): boolean {
    if (this.#state !== STREAMING || !this.#sendsBody) return true;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (bytes.byteLength === 0) return !this.#waits;
    this.sentBytes += bytes.byteLength;
    if (this.#totalBytes < 0) {
      let taken = true;
      this.#native.cork(() => {
        taken = this.#native.write(bytes);
      });
      // The library has copied the bytes that the socket does not take now.
      if (transfer) freeBuffer(bytes);
      if (!taken) this.#waits = true;
      return taken;
    }
    if (bytes.byteLength > this.#owedBytes) {
      this.destroy();
      return true;
    }
    this.#owedBytes -= bytes.byteLength;
    if (this.#tail !== null) {
      this.#tail = Buffer.concat([this.#tail, bytes]);
      return false;
    }
    this.#native.cork(() => this.#push(bytes));
    this.#waits = this.#tail !== null;
    return !this.#waits;
  }

  end(): void {
    if (this.#state !== STREAMING) return;
    if (this.#sendsBody && this.#owedBytes > 0) {
      this.destroy();
      return;
    }
    if (!this.#sendsBody) {
      this.#finish(ENDED);
      this.#native.cork(() => this.#endWithoutBody(this.#totalBytes, this.#closes || this.#listener.draining));
    } else if (this.#totalBytes === 0 || (this.#totalBytes < 0 && !this.#waits)) this.#endStream();
    else if (this.#totalBytes < 0 || this.#tail !== null) this.#state = FLUSHING;
  }

  destroy(): void {
    if (this.#state >= FLUSHING) return;
    this.#finish(GONE);
    this.#native.close();
  }

  /** Whether the client requested `connection: close`. */
  closeAfter(): void {
    this.#clientCloses = true;
  }

  /**
   * Marks the request as a WebSocket handshake. With `context`, the library can turn the connection into a WebSocket.
   */
  offerUpgrade(context: object): void {
    this.#upgradeContext = context;
    // After a WebSocket handshake, the client sends no further request.
    this.#closes = true;
  }

  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null {
    const context = this.#upgradeContext;
    if (this.#state !== OPEN || context === null) return null;
    const head = this.#listener.heads.get(headerBlock, this);
    const { sockets, waitingBytesMax } = this.#listener;
    const wire = new UwsWire({ events, open: sockets, waitingBytesMax });
    const handshake = handshakeHeaders(this.headerBlock);
    this.#finish(ENDED);
    this.#listener.holder.cork(() => {
      this.#writeHead(101, head);
      this.#native.upgrade(
        { wire },
        handshake['sec-websocket-key'] ?? '',
        chosenProtocol(head, handshake) ?? '',
        handshake['sec-websocket-extensions'] ?? '',
        context,
      );
    });
    // Called when the listener is draining.
    if (this.#listener.draining) wire.close(1012, 'Service restart');
    return wire;
  }

  /** Responds with an error of the table, and closes the connection. */
  refuse(code: ErrorCode, details: ErrorDetails): void {
    this.#closes = true;
    this.send(errorTable[code].status, 'content-type\0text/plain;charset=utf-8\0', `${errorMessage(code, details)}\n`);
  }

  #writeHead(status: number, head: ResponseHead): void {
    const id = !head.hasRequestId && this.requestId !== '' ? this.requestId : null;
    // The library closes the connection, but does not send the header.
    const closing = this.#clientCloses ? '\r\nconnection: close' : '';
    if (head.isAscii && !head.hasDate && status !== 101) {
      // The headers are passed with the status, which the library writes verbatim before a line end, because one call
      // per header would cost more than everything else.
      const lines = head.lines === '' ? '' : `\r\n${head.lines.slice(0, -2)}`;
      this.#native.writeStatus(
        STATUS_TEXTS[status]! + closing + lines + (id === null ? '' : `\r\nx-request-id: ${id}`),
      );
      return;
    }
    this.#native.writeStatus(STATUS_TEXTS[status]! + closing);
    const { pairs } = head;
    for (let i = 0; i < pairs.length; i += 2) {
      // The library writes the date and the handshake headers itself.
      if (pairs[i] === 'date' || (status === 101 && pairs[i]!.startsWith('sec-websocket-'))) continue;
      this.#native.writeHeader(pairs[i]!, latin1(pairs[i + 1]!));
    }
    if (id !== null) this.#native.writeHeader('x-request-id', id);
  }

  /** The connection is not closed through the library, which would write its header into the body. */
  #endStream(): void {
    this.#finish(ENDED);
    this.#native.cork(() => void this.#native.end());
  }

  /** Ends the response after the headers; -1 means without a content-length. */
  #endWithoutBody(bytes: number, closes: boolean): void {
    if (bytes >= 0) this.#native.endWithoutBody(bytes, closes);
    else {
      // The library treats any first argument as a length, so only the header can announce the close.
      if (closes && !this.#clientCloses) this.#native.writeHeader('connection', 'close');
      this.#native.endWithoutBody();
    }
  }

  /** Sends a part of a body with a known length; bytes that the socket does not accept wait in `#tail`. */
  #push(bytes: Uint8Array): void {
    const before = this.#native.getWriteOffset();
    const [taken, done] = this.#native.tryEnd(bytes, this.#totalBytes);
    if (done) {
      this.#tail = null;
      this.#finish(ENDED);
    } else if (!taken) this.#tail = bytes.subarray(this.#native.getWriteOffset() - before);
    else this.#tail = null;
  }

  #writable(): boolean {
    if (this.#state === FLUSHING || this.#state === STREAMING) {
      if (this.#tail !== null) this.#push(this.#tail);
      if (this.#tail !== null) return false;
      if (this.#state === FLUSHING && this.#totalBytes < 0) this.#endStream();
      else if (this.#waits && this.#state === STREAMING) {
        this.#waits = false;
        this.onDrain?.();
      }
    }
    return true;
  }

  #aborted(): void {
    const before = this.#state;
    if (before >= ENDED) return;
    this.#finish(GONE);
    if (before < FLUSHING) this.onAbort?.();
  }

  #finish(state: number): void {
    if (this.#state >= ENDED) return;
    this.#body?.drop(state === ENDED);
    this.#state = state;
    if (this.#unsent !== null) this.#unsent.bytes = 0;
    if (this.#transferred !== null) freeBuffer(this.#transferred);
    if (--this.#listener.running === 0) this.#listener.onQuiet?.();
  }
}

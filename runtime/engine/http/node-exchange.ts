// One request on node:http and its response. Created by listener-node.ts, which also reports the end of its connection.
// The handler uses it as an `Exchange`. Optimized for CPU per request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { freeBuffer } from '#core/free-buffers.ts';
import { errorMessage, errorTable, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { HeldBytes, HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { hasBody, type DateHeader, type HeadCache, type ResponseHead } from './header-block.ts';
import type { BodySink, Exchange, ListenerOptions } from './listener.ts';
import { lingerAtEnd } from './node-connections.ts';
import { openWebSocket } from './node-handshake.ts';
import { leaveConnection, type NodeConnection } from './node-pipeline.ts';
import { countUnsent, flushHead, headText, UNSENT_BYTES_MIN, type NodeResponse } from './node-response.ts';
import type { Upgrader } from './websocket.ts';

/** State shared by all exchanges of a listener. */
export interface NodeListenerState {
  readonly options: ListenerOptions;
  readonly heads: HeadCache;
  readonly date: DateHeader;
  readonly stallMs: number;
  draining: boolean;
  /** Created for the first handshake. */
  upgrader: Upgrader | null;
}

type Request = IncomingMessage & { exchange?: NodeExchange };

/** Unread request bodies up to this size are read and dropped, so that the connection can be reused. */
const DRAIN_BYTES_MAX = 64 * 1024;
/** Smaller chunks are not freed here, but by the garbage collector. */
const FREED_BYTES_MIN = 64 * 1024;

// States of the response.
const OPEN = 0;
const STREAMING = 1;
const ENDED = 2;
const GONE = 3;

export class NodeExchange implements Exchange {
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
  /** Data that the client sent after a WebSocket handshake, when the parser had detached from the connection. */
  upgradeHead: Buffer | null = null;
  /** The next exchange of the same connection, when requests are pipelined. */
  next: NodeConnection['first'] = null;

  readonly #listener: NodeListenerState;
  readonly #connection: NodeConnection;
  readonly #request: Request;
  readonly #response: NodeResponse;
  #state = OPEN;
  #sink: BodySink | null = null;
  #receivedBytes = 0;
  #awaitsContinue: boolean;
  #closes = false;
  #drainHeard = false;
  /** Memory for bytes that the client has not received, if there are many. */
  #unsent: HeldBytes | null = null;
  #sendsBody = true;
  /** How many bytes a streamed response with `content-length` still has to send; -1 if it has no length. */
  #owedBytes = -1;

  // There are nine arguments, because an options object would be one more allocation per request.
  constructor(
    listener: NodeListenerState,
    connection: NodeConnection,
    request: IncomingMessage,
    response: ServerResponse,
    target: string,
    host: string,
    headerBlock: string,
    bodyBytes: number,
    awaitsContinue: boolean,
  ) {
    this.method = request.method!;
    this.target = target;
    this.host = host;
    this.headerBlock = headerBlock;
    this.bodyBytes = bodyBytes;
    this.#listener = listener;
    this.#connection = connection;
    this.#request = request;
    this.#response = response as NodeResponse;
    this.#awaitsContinue = awaitsContinue;
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress;
  }

  header(name: string): string | null {
    const raw = this.#request.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i]!.length === name.length && raw[i]!.toLowerCase() === name) return raw[i + 1]!;
    }
    return null;
  }

  readBody(sink: BodySink): void {
    if (this.#state >= ENDED || this.#sink !== null) return;
    this.#sink = sink;
    if (this.bodyBytes === 0) {
      sink.end();
      return;
    }
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      // After the response's headers, this would become a part of the body.
      if (this.#state === OPEN) this.#response.writeContinue();
    }
    this.#request.exchange = this;
    this.#request.on('data', onBodyData);
    this.#request.on('end', onBodyEnd);
    this.#connection.socket.setTimeout(this.#listener.stallMs);
  }

  resumeBody(): void {
    if (this.#state >= ENDED || this.#sink === null || !this.#request.isPaused()) return;
    this.#connection.socket.setTimeout(this.#listener.stallMs);
    this.#request.resume();
  }

  /** Called by the shared body listeners below. */
  receive(bytes: Uint8Array): void {
    if (this.#state >= ENDED) return;
    this.#receivedBytes += bytes.byteLength;
    const limit = this.#listener.options.limits.bodyBytesMax;
    if (this.#receivedBytes > limit) {
      const abort = this.onAbort;
      if (this.#state === OPEN) this.refuse('body_too_large', { limit });
      else this.destroy();
      abort?.();
      return;
    }
    if (!this.#sink!.chunk(bytes)) {
      this.#request.pause();
      // The worker is slow, so the client must not time out for sending nothing.
      this.#connection.socket.setTimeout(0);
    }
  }

  /** Called by the shared body listeners below. */
  received(): void {
    if (this.#state >= ENDED) return;
    // The worker may wait for the body of a pipelined request.
    if (this.next === null) this.#connection.socket.setTimeout(0);
    this.#sink!.end();
  }

  send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer = false): void {
    if (this.#state !== OPEN) return;
    const head = this.#listener.heads.ofAnswer(status, headerBlock, this);
    const sendsBody = hasBody(this.method, status);
    let bytes = 0;
    let ascii = false;
    if (typeof body === 'string') {
      bytes = Buffer.byteLength(body);
      ascii = bytes === body.length;
    } else if (body !== null) bytes = body.byteLength;
    if (body === null && !sendsBody && head.declaredBytes >= 0) bytes = head.declaredBytes;
    const framed =
      status === 204 || (status === 304 && body === null && head.declaredBytes < 0)
        ? ''
        : `content-length: ${bytes}\r\n`;
    if (this.#isLast() || this.#awaitsContinue || this.#unreadIsMuch()) this.#closes = true;
    if (sendsBody) this.sentBytes = bytes;
    this.#response._header = this.#headText(status, head, framed);
    this.#state = ENDED;
    leaveConnection(this.#connection, this);
    if (!sendsBody || bytes === 0 || body === null) this.#response.end();
    // Headers and body are one write in Latin-1, so that header values keep their bytes.
    else if (typeof body === 'string' && ascii) this.#response.end(body, 'latin1');
    else if (typeof body === 'string') this.#response.end(Buffer.from(body));
    else this.#response.end(body, transfer && bytes >= FREED_BYTES_MIN ? () => freeBuffer(body) : undefined);
    this.#afterEnd();
    if (bytes >= UNSENT_BYTES_MIN) this.#countUnsent();
  }

  begin(status: number, headerBlock: string): void {
    if (this.#state !== OPEN) return;
    const head = this.#listener.heads.ofAnswer(status, headerBlock, this);
    const response = this.#response;
    this.#sendsBody = hasBody(this.method, status);
    let framed = '';
    if (head.declaredBytes >= 0) {
      if (status !== 204) framed = `content-length: ${head.declaredBytes}\r\n`;
      this.#owedBytes = head.declaredBytes;
    } else if (this.#sendsBody) {
      // HTTP/1.0 has no chunked bodies, so the end of the connection ends the body.
      if (this.#request.httpVersionMinor === 0) this.#closes = true;
      else {
        framed = 'transfer-encoding: chunked\r\n';
        response.chunkedEncoding = true;
      }
    }
    if (this.#isLast() || this.#awaitsContinue) this.#closes = true;
    response._header = this.#headText(status, head, framed);
    this.#state = STREAMING;
    // The headers wait for the first chunk of this tick, so that both are in the same packet.
    process.nextTick(flushHead, response);
  }

  write(chunk: Uint8Array | string, transfer = false): boolean {
    if (this.#state !== STREAMING || !this.#sendsBody || this.#connection.socket.destroyed) return true;
    const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.byteLength;
    if (bytes === 0) return true;
    if (this.#owedBytes >= 0) {
      if (bytes > this.#owedBytes) {
        this.destroy();
        return true;
      }
      this.#owedBytes -= bytes;
    }
    this.sentBytes += bytes;
    const isFreed = transfer && typeof chunk !== 'string' && bytes >= FREED_BYTES_MIN;
    if (
      this.#response.write(
        typeof chunk === 'string' ? Buffer.from(chunk) : chunk,
        isFreed ? () => freeBuffer(chunk) : undefined,
      )
    )
      return true;
    if (!this.#drainHeard) {
      this.#drainHeard = true;
      this.#response.on('drain', () => this.#drained());
    }
    this.#connection.socket.setTimeout(this.#listener.stallMs);
    this.#countUnsent();
    return false;
  }

  end(): void {
    if (this.#state !== STREAMING) return;
    if (this.#sendsBody && this.#owedBytes > 0) {
      this.destroy();
      return;
    }
    this.#state = ENDED;
    if (this.#isLast() || this.#unreadIsMuch()) this.#response._last = true;
    leaveConnection(this.#connection, this);
    if (this.#response._last) this.#linger();
    this.#response.end();
    this.#afterEnd();
  }

  destroy(): void {
    if (this.#state >= ENDED) return;
    const { socket } = this.#connection;
    // The writes of this tick are flushed first, so that the client gets everything that was sent before the cut.
    if (this.#state === STREAMING && this.#response.socket === socket) {
      flushHead(this.#response);
      while (socket.writableCorked > 0) socket.uncork();
    }
    this.#state = GONE;
    leaveConnection(this.#connection, this);
    socket.destroy();
  }

  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null {
    if (this.#state !== OPEN || this.upgradeHead === null) return null;
    const head = this.#listener.heads.get(headerBlock, this);
    const { socket } = this.#connection;
    this.#response.detachSocket(socket);
    this.#state = ENDED;
    leaveConnection(this.#connection, this);
    this.#connection.upgraded = true;
    return openWebSocket(this.#listener, socket, this, this.upgradeHead, head, events);
  }

  /** Responds with an error of the table, and closes the connection. */
  refuse(code: ErrorCode, details: ErrorDetails): void {
    this.#closes = true;
    this.send(errorTable[code].status, 'content-type\0text/plain;charset=utf-8\0', `${errorMessage(code, details)}\n`);
  }

  /** Called when the connection has ended, or the rest of the request is malformed. */
  abort(): void {
    if (this.#state >= ENDED) return;
    this.#state = GONE;
    leaveConnection(this.#connection, this);
    // If the exchange waits behind other responses, it ends the connection in its turn, because it has no response.
    this.#response.once('socket', endSocket);
    this.onAbort?.();
  }

  /** Whether the request's body is still arriving; after a parser error, it never ends. */
  get incomplete(): boolean {
    return !this.#request.complete;
  }

  /** Whether the response has begun, so that no error can be sent instead. */
  get begun(): boolean {
    return this.#state !== OPEN;
  }

  /** Makes the connection end with this response, which may wait for earlier responses. */
  endConnection(): void {
    this.#response._last = true;
  }

  /** Whether the connection must end; pipelined requests that were accepted are still answered. */
  #isLast(): boolean {
    return this.#connection.newest === this && (this.#listener.draining || this.#connection.closing);
  }

  #headText(status: number, head: ResponseHead, framed: string): string {
    const response = this.#response;
    let connection = '';
    if (this.#closes || !response.shouldKeepAlive) {
      response._last = true;
      connection = 'connection: close\r\n';
      this.#linger();
    } else if (this.#request.httpVersionMinor === 0) connection = 'connection: keep-alive\r\n';
    return headText(status, head, framed, this.requestId, this.#listener.date, connection);
  }

  /** Whether the unread part of the request body is so large that closing the connection is cheaper than reading it. */
  #unreadIsMuch(): boolean {
    if (this.bodyBytes === 0 || this.#request.complete) return false;
    return this.bodyBytes < 0 || this.bodyBytes - this.#receivedBytes > DRAIN_BYTES_MAX;
  }

  /** The client may still be sending when the response ends the connection. */
  #linger(): void {
    if (this.bodyBytes === 0 || this.#request.complete) return;
    this.#connection.closing = true;
    lingerAtEnd(this.#connection.socket);
  }

  /** A client that does not read a large response must not keep it in memory forever. */
  #afterEnd(): void {
    const socket = this.#connection.socket;
    if (socket.writableLength > 0 && !socket.destroyed) socket.setTimeout(this.#listener.stallMs);
  }

  #countUnsent(): void {
    const { memory } = this;
    if (memory !== null) this.#unsent = countUnsent(this.#response, this.#connection.socket, memory, this.#unsent);
  }

  #drained(): void {
    if (this.#unsent !== null) this.#unsent.bytes = 0;
    if (this.#state !== STREAMING) return;
    this.#connection.socket.setTimeout(0);
    this.onDrain?.();
  }
}

function endSocket(socket: Socket): void {
  socket.destroySoon();
}

function onBodyData(this: Request, bytes: Uint8Array): void {
  this.exchange!.receive(bytes);
}

function onBodyEnd(this: Request): void {
  this.exchange!.received();
}

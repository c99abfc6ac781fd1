// The one interface between a socket server and the handler. listener-node.ts and listener-uws.ts implement it; the
// conformance suite in test/contract/listener.ts runs over both. Nothing here knows of isolates or routes.
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';

/**
 * One HTTP request and its response, as a listener hands it to the handler.
 *
 * Header blocks are flat strings `name\0value\0name\0value\0` (names lower-case, arrival order): the form in which they
 * cross into an isolate, so that no listener builds an object the worker does not ask for. Requests come without
 * hop-by-hop headers (`connection`, `keep-alive`, `proxy-connection`, `transfer-encoding`, `te`, `trailer`, `upgrade`);
 * a valid WebSocket handshake keeps its `upgrade`.
 *
 * Exactly one of `send`, `begin` (then `write`*, `end`), `upgrade` or `destroy` ends it. After `onAbort` every call is
 * a no-op.
 */
export interface Exchange {
  /** Upper-case method. */
  readonly method: string;
  /** Origin form: path and query as received, begins with `/`. */
  readonly target: string;
  /** Host header as received, lower-cased, with port if any. */
  readonly host: string;
  readonly headerBlock: string;
  /** Peer address without port. */
  readonly remoteAddress: string;
  /** Declared body length; 0 = no body, -1 = unknown (chunked). */
  readonly bodyBytes: number;
  /** First value of a request header; the name in lower case. */
  header(name: string): string | null;

  /**
   * Starts reading the request body. `sink.chunk` gets bytes it may keep; `sink.end` comes once after the last chunk.
   * After `chunk` returned false nothing more comes until `resumeBody()`. A body over `bodyBytesMax` ends the exchange
   * with 413 by the listener itself and calls `onAbort`.
   */
  readBody(sink: BodySink): void;
  resumeBody(): void;

  /**
   * The whole response at once. `content-length` is set by the listener; a HEAD or 204/304 response sends no body.
   * `transfer`: as for `write`.
   */
  send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer?: boolean): void;
  /** Response head of a streamed response: with `content-length` in the block it is framed by it, else chunked. */
  begin(status: number, headerBlock: string): void;
  /**
   * One chunk; false when the client is slower than the worker: wait for `onDrain`. `transfer`: it is nobody's any
   * more, its memory may go.
   */
  write(chunk: Uint8Array | string, transfer?: boolean): boolean;
  end(): void;
  /**
   * Answers a WebSocket handshake with 101 and the headers of the block. Null, and nothing is sent, when the request
   * was none. A socket that cannot be opened after all says `closed` at once.
   */
  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null;
  /** Cuts the connection, so that a truncated response is seen as truncated. */
  destroy(): void;

  /** Set by the handler: answered as `x-request-id`, unless the worker answers with its own. Empty: not answered. */
  requestId: string;
  /** Set by the listener as it answers: names of cookies it left out, since they were for other hosts. Mostly empty. */
  refusedCookies: string;
  /**
   * Set by the handler: where a response that its client has not taken is counted. One that it has no room for is cut.
   */
  memory?: HostMemory | null;
  /** Set by the handler: the client went away before the response was complete. Called at most once. */
  onAbort: (() => void) | null;
  /** Set by the handler: the socket takes more after `write` returned false. */
  onDrain: (() => void) | null;
}

/** Where a request body goes. */
export interface BodySink {
  /** False asks for a pause until `resumeBody()`. */
  chunk(bytes: Uint8Array): boolean;
  end(): void;
}

/** What a listener needs to open. */
export interface ListenerOptions {
  /** 0 = a free one. */
  readonly port: number;
  readonly host: string;
  readonly limits: {
    readonly urlBytesMax: number;
    readonly headerBytesMax: number;
    readonly bodyBytesMax: number;
    readonly idleMs: number;
    /** Until a request's headers must be complete (slow clients, 408). Default 10,000. */
    readonly headersMs?: number;
    /** A body that stops coming, or a response that the client stops taking: the connection is cut. Default 60,000. */
    readonly stallMs?: number;
    /** Open connections, above which the one that has waited longest for a request is closed. Default 20,000. */
    readonly connectionsMax?: number;
    /** Unanswered requests on one connection, above which it is closed after them. Default 256. */
    readonly pipelinedMax?: number;
    /** Default 32 MB. */
    readonly webSocketMessageBytesMax?: number;
    /** Between pings. Default 30,000. */
    readonly webSocketIdleMs?: number;
    /** Messages that wait for a worker, where a connection cannot be paused; uWebSockets.js only. Default 16 MB. */
    readonly webSocketBufferedBytesMax?: number;
  };
  /** The platform's own domains: no cookie may be for all of their hosts. */
  readonly domains?: readonly string[];
  /** Several engine processes on one port. Default false: a second opener gets EADDRINUSE. */
  readonly reusePort?: boolean;
  /** A listening socket of another process to take over instead of opening one; node:http only. */
  readonly inherited?: object | null;
  readonly onExchange: (exchange: Exchange) => void;
}

/** An open listener. */
export interface Listener {
  /** `node` or `uws`. */
  readonly technology: 'node' | 'uws';
  readonly port: number;
  /** The listening socket, for another process to go on with; null where the technology cannot part with it. */
  handOver(): object | null;
  /**
   * Takes what comes to another process's listening socket as well, and returns what leaves it again; null where the
   * technology cannot.
   */
  readonly adopt: ((socket: object) => () => void) | null;
  /**
   * Stops accepting, lets running exchanges finish, closes idle connections; resolves when all are gone or at the
   * deadline.
   *
   * @param idle `wait`: idle connections get the time they always have for one more request, which is answered with
   *   `connection: close`, so that no request meets a closed connection.
   */
  drain(deadlineMs: number, idle?: 'close' | 'wait'): Promise<void>;
  /** Cuts everything. */
  close(): Promise<void>;
}

/** Opens a listener; rejects with the system's error (`EADDRINUSE`, `EACCES`) when the port cannot be had. */
export type OpenListener = (options: ListenerOptions) => Promise<Listener>;

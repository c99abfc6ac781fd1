// The interface between a socket server and the handler. listener-node.ts and listener-uws.ts implement it; the
// conformance suite in test/contract/listener.ts runs over both. Independent of isolates and routes.
import type { PlatformError } from '#core/errors.ts';
import type { Part } from '../bridge/protocol.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';

/**
 * One HTTP request and its response. A listener passes it to the handler.
 *
 * Header blocks are flat strings `name\0value\0name\0value\0` (names lower-case, arrival order). Header blocks enter an
 * isolate in this encoding, so that no listener builds an object that the worker does not read. Requests have no
 * hop-by-hop headers (`connection`, `keep-alive`, `proxy-connection`, `transfer-encoding`, `te`, `trailer`, `upgrade`);
 * a valid WebSocket handshake keeps its `upgrade`.
 *
 * Exactly one of `send`, `begin` (then `write`*, `end`), `upgrade` or `destroy` ends it. After `onAbort`, every call
 * has no effect.
 */
export interface Exchange {
  /** Upper-case method. */
  readonly method: string;
  /** Origin form: path and query as received, starting with `/`. */
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
   * Starts reading the request body. `sink.chunk` receives bytes that it may keep; `sink.end` is called once after the
   * last chunk. After `chunk` returned false, reading pauses until `resumeBody()`. For a body over `bodyBytesMax`, the
   * listener ends the exchange with 413 and calls `onAbort`.
   */
  readBody(sink: BodySink): void;
  resumeBody(): void;

  /**
   * Sends the whole response in one call. The listener sets `content-length`; a HEAD or 204/304 response sends no body.
   * `transfer`: as for `write`.
   */
  send(status: number, headerBlock: string, body: string | Uint8Array | null, transfer?: boolean): void;
  /** Sends the head of a streamed response: framed by `content-length` if the block has it, else chunked. */
  begin(status: number, headerBlock: string): void;
  /**
   * Sends one chunk. If it returns false, the client is slower than the worker: wait for `onDrain`. `transfer`: the
   * caller gives the chunk up, so its memory may be freed.
   */
  write(chunk: Uint8Array | string, transfer?: boolean): boolean;
  end(): void;
  /**
   * Answers a WebSocket handshake with 101 and the headers of the block. Returns null, and sends nothing, if the
   * request is not a handshake. If the socket cannot be opened after all, `closed` is called immediately.
   */
  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null;
  /** Cuts the connection, so that a truncated response is seen as truncated. */
  destroy(): void;

  /** Set by the handler; sent as `x-request-id`, unless the worker sets its own. Empty: not sent. */
  requestId: string;
  /** The listener sets this when it responds: names of removed cookies, which were for other hosts. Mostly empty. */
  refusedCookies: string;
  /** Set by the listener: bytes of the response's body so far, without framing. */
  readonly sentBytes: number;
  /**
   * Set by the handler: counts the part of a response that its client has not received. A response that exceeds it is
   * cut.
   */
  memory?: HostMemory | null;
  /** An event of a durable object: it is never repeated, and its errors are for its caller. */
  readonly isOfObject?: boolean;
  /** Target of a call from another worker. Only the platform sets this field; undefined or null for a request. */
  readonly callee?: Callee | null;
  /** Set by the handler; called at most once, when the client disconnects before the response is complete. */
  onAbort: (() => void) | null;
  /** Set by the handler; called when the socket accepts data again after `write` returned false. */
  onDrain: (() => void) | null;
}

/** The entrypoint that another worker calls instead of the default export's `fetch` (guest/entrypoints.ts). */
export interface Callee {
  /** URL of the request, with a host that does not resolve. */
  readonly url: string;
  /** Null if the request is for the default export. */
  readonly entrypoint: string | null;
  /** JSON of `ctx.props`. */
  readonly props: string;
  /** Set for an RPC session: frames are messages of the socket that `upgrade` opens, in both directions. */
  readonly session: {
    /** The first frame, if it goes with the request, or null. */
    readonly frame: Part | null;
    /** Reports why there is no session, or why it has ended, instead of a response. */
    fail(error: PlatformError): void;
  } | null;
}

/** Receives a request body. */
export interface BodySink {
  /** False pauses until `resumeBody()`. */
  chunk(bytes: Uint8Array): boolean;
  end(): void;
}

/** Options of a listener. */
export interface ListenerOptions {
  /** 0 = a free port. */
  readonly port: number;
  readonly host: string;
  readonly limits: {
    readonly urlBytesMax: number;
    readonly headerBytesMax: number;
    readonly bodyBytesMax: number;
    readonly idleMs: number;
    /** Time until a request's headers must be complete (slow clients get 408). Default 10,000. */
    readonly headersMs?: number;
    /** Time after which a stalled request body or an unread response cuts the connection. Default 60,000. */
    readonly stallMs?: number;
    /** Open connections, above which the connection that was idle longest is closed. Default 20,000. */
    readonly connectionsMax?: number;
    /** Unanswered requests on one connection, above which it is closed after they are answered. Default 256. */
    readonly pipelinedMax?: number;
    /** Default 32 MB. */
    readonly webSocketMessageBytesMax?: number;
    /** Between pings. Default 30,000. */
    readonly webSocketIdleMs?: number;
    /**
     * Bytes of messages that wait for a worker if a connection cannot be paused; uWebSockets.js only. Default 16 MB.
     */
    readonly webSocketBufferedBytesMax?: number;
  };
  /** The platform's own domains: no cookie may be set for all of their hosts. */
  readonly domains?: readonly string[];
  /** Several engine processes listen on one port. Default false: a second opener gets EADDRINUSE. */
  readonly reusePort?: boolean;
  /** A listening socket of another process to use instead of opening one; node:http only. */
  readonly inherited?: object | null;
  readonly onExchange: (exchange: Exchange) => void;
}

/** An open listener. */
export interface Listener {
  /** `node` or `uws`. */
  readonly technology: 'node' | 'uws';
  readonly port: number;
  /** The listening socket, for another process to take over; null if the technology does not support it. */
  handOver(): object | null;
  /**
   * Also accepts connections of another process's listening socket, and returns a function that stops it; null if the
   * technology does not support it.
   */
  readonly adopt: ((socket: object) => () => void) | null;
  /**
   * Stops accepting, lets running exchanges finish, and closes idle connections. Resolves when all connections are
   * closed, or at the deadline.
   *
   * @param idle `wait`: idle connections keep their usual time for one more request, which gets `connection: close`, so
   * that no client sends a request on a closed connection.
   */
  drain(deadlineMs: number, idle?: 'close' | 'wait'): Promise<void>;
  /** Cuts all connections. */
  close(): Promise<void>;
}

/** Opens a listener; rejects with the system's error (`EADDRINUSE`, `EACCES`) if the port is not available. */
export type OpenListener = (options: ListenerOptions) => Promise<Listener>;

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
  /** Path and query as received, starting with `/`. */
  readonly target: string;
  /** The received Host header in lower case, with the port if there is one. */
  readonly host: string;
  readonly headerBlock: string;
  /** Address of the peer, without the port. */
  readonly remoteAddress: string;
  /** Declared body length; 0 = no body, -1 = unknown (chunked). */
  readonly bodyBytes: number;
  /** The first value of a request header. The name must be in lower case. */
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
  /**
   * Sends the status and headers of a streamed response. The body is framed by the block's `content-length`, or
   * chunked.
   */
  begin(status: number, headerBlock: string): void;
  /**
   * Sends one chunk. Returns false if the client is slower than the worker, which must then wait for `onDrain`. With
   * `transfer`, the caller no longer uses the chunk, so its memory may be freed.
   */
  write(chunk: Uint8Array | string, transfer?: boolean): boolean;
  end(): void;
  /**
   * Answers a WebSocket handshake with 101 and the headers of the block. Returns null, and sends nothing, if the
   * request is not a handshake. If the socket cannot be opened after all, `closed` is called immediately.
   */
  upgrade(headerBlock: string, events: SocketEvents): SocketWire | null;
  /** Cuts the connection, so that clients detect a truncated response. */
  destroy(): void;

  /** Set by the handler; sent as `x-request-id`, unless the worker sets its own. Empty: not sent. */
  requestId: string;
  /** Names of removed cookies, which were for other hosts. Set by the listener when it responds. Mostly empty. */
  refusedCookies: string;
  /** Number of bytes of the response's body so far, without framing. Set by the listener. */
  readonly sentBytes: number;
  /**
   * Counts the part of a response that its client has not received. Set by the handler; a response for which there is
   * no memory is cut.
   */
  memory?: HostMemory | null;
  /** Whether this is an event of a durable object, which is never repeated, and whose errors are for its caller. */
  readonly isOfObject?: boolean;
  /** Target of a call from another worker. Only the platform sets this field; undefined or null for a request. */
  readonly callee?: Callee | null;
  /** Set by the handler; called at most once, when the client disconnects before the response is complete. */
  onAbort: (() => void) | null;
  /** Set by the handler; called when the socket accepts data again after `write` returned false. */
  onDrain: (() => void) | null;
}

/** The entrypoint that another worker calls (guest/entrypoints.ts), instead of the `fetch` of the default export. */
export interface Callee {
  /** URL of the request, with a host that does not resolve. */
  readonly url: string;
  /** Name of the export; null if the request is for the default export. */
  readonly entrypoint: string | null;
  /** JSON of `ctx.props`. */
  readonly props: string;
  /** Set for an RPC session. Its frames are messages, in both directions, of the socket that `upgrade` opens. */
  readonly session: {
    /** The first frame, if the request contains it; otherwise null. */
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
    /** Time in which a request's headers must be complete (slow clients get 408). Default 10,000. */
    readonly headersMs?: number;
    /**
     * Time after which the connection is cut because of a stalled request body or an unread response. Default 60,000.
     */
    readonly stallMs?: number;
    /**
     * Maximum number of open connections, above which the connection that was idle longest is closed. Default 20,000.
     */
    readonly connectionsMax?: number;
    /**
     * Maximum number of unanswered requests on one connection, above which it is closed after they are answered.
     * Default 256.
     */
    readonly pipelinedMax?: number;
    /** Default 32 MB. */
    readonly webSocketMessageBytesMax?: number;
    /** Between pings. Default 30,000. */
    readonly webSocketIdleMs?: number;
    /**
     * Maximum number of bytes of messages that wait for a worker if a connection cannot be paused; only for
     * uWebSockets.js. Default 16 MB.
     */
    readonly webSocketBufferedBytesMax?: number;
  };
  /** The platform's own domains. No cookie may be set for all of their hosts. */
  readonly domains?: readonly string[];
  /**
   * Whether several engine processes may listen on the port. By default false, so that a second process gets
   * EADDRINUSE.
   */
  readonly reusePort?: boolean;
  /** A listening socket of another process, which is used instead of opening one; only for node:http. */
  readonly inherited?: object | null;
  readonly onExchange: (exchange: Exchange) => void;
}

/** An open listener. */
export interface Listener {
  /** `node` or `uws`. */
  readonly technology: 'node' | 'uws';
  readonly port: number;
  /** The listening socket, which another process can take over; null if the technology does not support this. */
  handOver(): object | null;
  /**
   * Also accepts connections of another process's listening socket, and returns a function that stops this; null if the
   * technology does not support it.
   */
  readonly adopt: ((socket: object) => () => void) | null;
  /**
   * Stops accepting, lets running exchanges finish, and closes idle connections. Resolves when all connections are
   * closed, or at the deadline.
   *
   * @param idle with `wait`, idle connections stay open for their usual time. Their next request gets `connection:
   * close`, so that no client sends a request on a closed connection.
   */
  drain(deadlineMs: number, idle?: 'close' | 'wait'): Promise<void>;
  /** Cuts all connections. */
  close(): Promise<void>;
}

/** Opens a listener; rejects with the system's error (`EADDRINUSE`, `EACCES`) if the port is not available. */
export type OpenListener = (options: ListenerOptions) => Promise<Listener>;

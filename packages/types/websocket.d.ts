// The worker's end of WebSockets that clients open, which TypeScript's library for workers lacks.
export {};

declare global {
  /**
   * Two ends of one WebSocket: return the first end in the response of a handshake, and accept and use the second.
   *
   * @example
   * const { 0: client, 1: server } = new WebSocketPair();
   * server.accept();
   * return new Response(null, { status: 101, webSocket: client });
   */
  class WebSocketPair {
    readonly 0: WebSocket;
    readonly 1: WebSocket;
  }
  interface WebSocket {
    /** Starts delivering messages to this end. */
    accept(): void;
    /** Keeps a copy of a value with the socket. */
    serializeAttachment(value: unknown): void;
    /** A copy of the attachment, or null. */
    deserializeAttachment(): unknown;
  }
  /** A message that the sockets of a durable object answer without calling it. */
  class WebSocketRequestResponsePair {
    constructor(request: string, response: string);
    readonly request: string;
    readonly response: string;
  }
  interface ResponseInit {
    /** In a response with status 101, the end of the WebSocket pair that is for the client. */
    webSocket?: WebSocket | null;
  }
  interface Response {
    /** The WebSocket of a `fetch` with the header `upgrade: websocket`; null if the server refused the upgrade. */
    readonly webSocket: WebSocket | null;
  }
}

// The worker's end of WebSockets that others open: what the library for workers does not know.
export {};

declare global {
  /**
   * Two ends of one WebSocket: answer a handshake with the first, accept the second and talk.
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
    /** Begins to deliver messages to this end. */
    accept(): void;
  }
  interface ResponseInit {
    /** With status 101: the end that the client gets. */
    webSocket?: WebSocket | null;
  }
  interface Response {
    /** Of a `fetch` with the header `upgrade: websocket`; null where the other side did not agree. */
    readonly webSocket: WebSocket | null;
  }
}

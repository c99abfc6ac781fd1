// A response with server-sent events: one JSON value per `data:` line, with back-pressure.
import type { ServerResponse } from 'node:http';

interface EventStream {
  /** Returns false if the reader is slow: wait for {@link drained}. */
  send(event: object): boolean;
  /** Calls back once the reader has caught up. */
  drained(then: () => void): void;
  end(): void;
  /** Whether the reader has disconnected. */
  readonly closed: boolean;
  /** Called when the reader disconnects before the end. */
  onGone(then: () => void): void;
}

export function createEventStream(response: ServerResponse): EventStream {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.flushHeaders();
  return {
    send: (event) => response.writable && response.write(`data: ${JSON.stringify(event)}\n\n`),
    drained: (then) => void response.once('drain', then),
    end: () => void response.end(),
    get closed() {
      return response.destroyed || response.writableEnded;
    },
    onGone(then) {
      response.once('close', () => {
        if (!response.writableFinished) then();
      });
    },
  };
}

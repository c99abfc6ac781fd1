// An RPC session with a durable object of this engine, which another engine has forwarded. It runs as a session of this
// engine, whose frames cross the link between the engines. Called by handler.ts.
import type { Part } from '../bridge/protocol.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import type { Exchange } from './listener.ts';
import { SESSION_FAILED, SessionExchange } from './session-exchange.ts';

/** Number of waiting bytes, for the isolate or for the link, above which their sender pauses. */
const WINDOW_BYTES = 256 * 1024;

/** The result of `upgrade` for a forwarded exchange. */
type LinkWire = SocketWire & { onDrain?: (() => void) | null };

/**
 * @param received the exchange from the other engine.
 * @param frame the first frame.
 * @param serve serves the session here. @throws {Error} when nothing can.
 */
export function receiveSession(received: Exchange, frame: Part, serve: (exchange: SessionExchange) => void): void {
  const { target, host, headerBlock } = received;
  const exchange = new SessionExchange('', {
    target,
    host,
    headerBlock,
    entrypoint: null,
    props: '{}',
    frame,
    memory: null,
    isOfObject: true,
  });
  const { wire } = exchange;
  const events: SocketEvents = {
    message(data) {
      wire.send(data);
      if (wire.bufferedBytes > WINDOW_BYTES) link?.pause();
    },
    failed() {},
    closed: () => wire.close(1000, ''),
  };
  const link: LinkWire | null = received.upgrade('', events);
  if (link === null) {
    received.destroy();
    return;
  }
  const onDrain = (): void => link.resume();
  wire.onDrain = onDrain;
  const onLinkDrain = (): void => wire.resume();
  link.onDrain = onLinkDrain;
  wire.attach({
    message(data) {
      link.send(data);
      if (link.bufferedBytes > WINDOW_BYTES) wire.pause();
    },
    failed() {},
    closed() {},
  });
  exchange.done.then(
    () => link.close(1000, ''),
    (error: Error & { readonly code?: string }) =>
      link.close(SESSION_FAILED, `${error.code ?? 'internal'} ${error.message}`),
  );
  serve(exchange);
}

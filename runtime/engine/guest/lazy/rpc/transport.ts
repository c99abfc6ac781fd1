// The transport of an RPC session's frames. It is the only dependency of session.ts on the outside; socket-transport.ts
// is one over a socket of the bridge, and tests join two in memory.
import type { Part } from '../../../bridge/protocol.ts';

/**
 * A pair of ends, each a transport, that carry frames both ways, in order and whole. A frame is a text, or bytes where
 * it has binary content.
 *
 * A session sets `onFrame` and `onClosed` before it returns to its caller; the transport calls them from tasks of its
 * own, never from inside `send` or `close`. After `close`, and after it has called `onClosed`, `send` does nothing and
 * neither is called any more.
 *
 * @example
 * transport.onFrame = onFrame;
 * transport.onClosed = onClosed;
 * transport.send('[2,1,"hello"]');
 */
export interface RpcTransport {
  /** Sends a frame. The caller gives its bytes up. */
  send(frame: Part): void;
  /** This end needs the session no more: the other end's `onClosed` is called. */
  close(): void;
  /** A frame of the other end. */
  onFrame: (frame: Part) => void;
  /** The session is over. @param error why; null: the other end closed it in order. */
  onClosed: (error: Error | null) => void;
}

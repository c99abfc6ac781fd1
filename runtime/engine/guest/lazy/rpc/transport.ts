// The transport of an RPC session's frames. The transport is the only external dependency of session.ts.
// socket-transport.ts implements it over a socket of the bridge, and tests connect two transports in memory.
import type { Part } from '../../../bridge/protocol.ts';

/**
 * A pair of transports that carry complete frames in both directions, in order. A frame is a text, or bytes if it has
 * binary content.
 *
 * A session sets `onFrame` and `onClosed` before it returns to its caller. The transport calls them from separate
 * tasks, never from inside `send` or `close`. After `close` or `onClosed`, `send` has no effect and neither callback is
 * called again.
 *
 * @example
 * transport.onFrame = onFrame;
 * transport.onClosed = onClosed;
 * transport.send('[2,1,"hello"]');
 */
export interface RpcTransport {
  /** Sends a frame, whose bytes the caller no longer uses. */
  send(frame: Part): void;
  /** Ends the session: the other end's `onClosed` is called. */
  close(): void;
  /** Called with a frame from the other end. */
  onFrame: (frame: Part) => void;
  /** Called when the session is over. @param error the reason; null if the other end closed the session normally. */
  onClosed: (error: Error | null) => void;
}

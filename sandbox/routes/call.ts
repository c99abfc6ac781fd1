// A call of the sandbox service. Types only.
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A call in progress. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the caller disconnects, or has its response. */
  readonly gone: AbortSignal;
}

/**
 * Handles a call with `here`; if `here` throws `heldElsewhere`, forwards the call to the replica that holds the
 * sandbox.
 */
export type CallPlacement = (call: Call, here: () => Promise<void>) => Promise<void>;

// A call of the sandbox service. Types only.
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A call under way. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Fires when the caller has gone, or has its answer. */
  readonly gone: AbortSignal;
}

/** Answers a call `here`, or has the replica answer it that has the sandbox, which `here` throws. */
export type CallPlacement = (call: Call, here: () => Promise<void>) => Promise<void>;

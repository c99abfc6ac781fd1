// Operations on queues: messages and dead letters.
import type { ById, Nothing } from './arguments.ts';

/** A message of a queue, or a dead letter. */
interface QueuedMessage {
  readonly id: string;
  readonly payload: unknown;
  readonly attempt: number;
  /** Time of sending, in milliseconds since 1970. */
  readonly timestamp: number;
  /** When the message is next delivered; null if it is not delivered automatically. */
  readonly dueAt: number | null;
  readonly deadReason: string | null;
}

/** Operations on a queue. */
export interface QueueOperations {
  readonly 'queue.stats': {
    readonly takes: Nothing;
    /** The same values as `env.<queue>.metrics()` in a worker. */
    readonly gives: {
      readonly backlogCount: number;
      readonly backlogBytes: number;
      readonly inFlightCount: number;
      /** Time of the oldest message in milliseconds since 1970; null if there is no message. */
      readonly oldestMessageTimestamp: number | null;
      readonly deadCount: number;
    };
  };
  readonly 'queue.list': {
    readonly takes: {
      /** Dead letters instead. */
      readonly dead?: boolean | undefined;
      readonly after?: number | undefined;
      readonly limit?: number | undefined;
    };
    readonly gives: {
      readonly messages: readonly QueuedMessage[];
      /** The value of `after` for the next page; null on the last page. */
      readonly next: number | null;
    };
  };
  readonly 'queue.send': {
    readonly takes: {
      readonly payload: unknown;
      readonly delaySeconds?: number | undefined;
      readonly dedupeId?: string | undefined;
      readonly orderingKey?: string | undefined;
    };
    readonly gives: { readonly messageId: string };
  };
  /** Returns false if the message does not exist, or is being delivered. */
  readonly 'queue.remove': {
    readonly takes: ById & { readonly dead?: boolean | undefined };
    readonly gives: { readonly removed: boolean };
  };
  /** Returns all dead letters, or one of them, to their queue. */
  readonly 'queue.redrive': {
    readonly takes: { readonly id?: string | undefined };
    readonly gives: { readonly count: number };
  };
  readonly 'queue.purge': {
    readonly takes: { readonly dead?: boolean | undefined };
    readonly gives: { readonly count: number };
  };
}

// The outbox interface of the db binding's host half: messages that are sent if and only if a transaction commits.
// Implemented by runtime/stores/outbox.ts.
import type { DatabasePlace } from './scope.ts';
import type { EventSender, NewMessage, QueuePlace } from './queue.ts';

/** Adds messages to transactions, and moves them from databases to their queues. */
export interface Outbox {
  /**
   * Adds all messages to an interactive transaction, or none of them.
   *
   * @returns the database's reply as JSON: `{}`, or a refusal.
   * @throws {PlatformError} `database_unavailable`, `store_unavailable`.
   */
  put(
    place: DatabasePlace,
    transaction: number,
    queue: QueuePlace,
    sender: EventSender,
    ...messages: NewMessage[]
  ): Promise<string>;
  /** Called when a transaction with messages was committed, or may have been: moves them to their queues soon. */
  committed(place: DatabasePlace): void;
}

// What the host half of the db binding asks of the outbox: messages that are sent if and only if a transaction commits.
// runtime/stores/outbox.ts is the one that does it.
import type { DatabasePlace } from './scope.ts';
import type { EventSender, NewMessage, QueuePlace } from './queue.ts';

/** Takes messages into transactions, and out of databases into their queues. */
export interface Outbox {
  /**
   * Puts messages into an interactive transaction, all or none.
   *
   * @returns JSON of the database: `{}`, or a refusal.
   * @throws {PlatformError} `database_unavailable`, `store_unavailable`.
   */
  put(
    place: DatabasePlace,
    transaction: number,
    queue: QueuePlace,
    sender: EventSender,
    ...messages: NewMessage[]
  ): Promise<string>;
  /** A transaction with messages was committed, or may have been: they are taken to their queues soon. */
  committed(place: DatabasePlace): void;
}

// Message queues: `queue` in platform.yaml.

/** Options of a message. */
export interface QueueSendOptions {
  /** Seconds before the message may be delivered; 0 by default. */
  delaySeconds?: number;
  /**
   * A message with an id that the queue has seen within four days is not stored again: `messageId` is the first
   * message's.
   */
  dedupeId?: string;
  /** Messages with the same key are delivered one at a time, in the order in which they were sent. */
  orderingKey?: string;
  /**
   * Encoding of the body: `json` by default; `text` for a plain string; `bytes` for an ArrayBuffer or a view, which
   * arrives as an ArrayBuffer; `v8` for all values that `structuredClone` copies, such as Date, Map or BigInt.
   */
  contentType?: 'json' | 'text' | 'bytes' | 'v8';
}

/** State of a queue. */
export interface QueueMetrics {
  /** Messages that wait or are being delivered. */
  readonly backlogCount: number;
  readonly backlogBytes: number;
  /** Messages being delivered. */
  readonly inFlightCount: number;
  /** Messages that failed permanently and are in the dead-letter queue. */
  readonly deadCount: number;
  /** When the oldest message was sent; absent if the queue is empty. */
  readonly oldestMessageTimestamp?: Date;
}

/** A message queue (`queue` in platform.yaml). A message is JSON of at most 128 KiB. */
export interface QueueBinding<Payload = unknown> {
  /**
   * Stores a message; it is delivered at least once to the worker's `message` handler.
   *
   * @throws when the payload is not JSON or is too large.
   * @example const { messageId } = await env.MAIL.send({ to: 'ada@example.org' });
   */
  send(payload: Payload, options?: QueueSendOptions): Promise<{ messageId: string }>;
  /**
   * Stores up to 100 messages, all or none; the ids are in the order of the messages. `options` are defaults for
   * messages without their own.
   *
   * @example await env.MAIL.sendBatch([{ payload: { to: 'ada@example.org' } }, { payload: { to: 'bob@example.org' },
   *   delaySeconds: 60 }]);
   */
  sendBatch(
    messages: Iterable<({ payload: Payload } | { body: Payload }) & QueueSendOptions>,
    options?: QueueSendOptions,
  ): Promise<{ messageIds: string[] }>;
  metrics(): Promise<QueueMetrics>;
}

/** A message as the `message` handler receives it. */
export interface QueueMessage<Payload = unknown> {
  readonly id: string;
  /** Resource name of the queue. */
  readonly queueName: string;
  /** Name of the queue in `env`. */
  readonly binding: string;
  /** The sent value. */
  readonly payload: Payload;
  /** The same as `payload`. */
  readonly body: Payload;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** The same as `attempt`. */
  readonly attempts: number;
  /** Time of sending, in milliseconds since 1970. */
  readonly timestamp: number;
  /** Acknowledges the message, even if the handler throws afterwards. */
  ack(): void;
  /** Requests another delivery, even if the handler does not throw. */
  retry(options?: { delaySeconds?: number }): void;
}

/** A message of a batch. */
export interface QueueBatchMessage<Payload = unknown> {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: Payload;
  /** The same as `body`. */
  readonly payload: Payload;
  /** 1 for the first delivery. */
  readonly attempts: number;
  ack(): void;
  retry(options?: { delaySeconds?: number }): void;
}

/**
 * Messages for the `queue` handler. Messages that are neither acknowledged nor retried follow the handler: they are
 * acknowledged if it returns, and retried if it throws.
 */
export interface QueueBatch<Payload = unknown> {
  /** Resource name of the queue. */
  readonly queue: string;
  readonly messages: readonly QueueBatchMessage<Payload>[];
  ackAll(): void;
  retryAll(options?: { delaySeconds?: number }): void;
}

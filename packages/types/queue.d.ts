// Message queues: `queue` in platform.yaml.

/** How a message is sent. */
export interface QueueSendOptions {
  /** Seconds before the message may be delivered; 0 by default. */
  delaySeconds?: number;
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
  /** Stores several messages, all or none; the ids are in the order of the messages. */
  sendBatch(messages: Iterable<{ payload: Payload } & QueueSendOptions>): Promise<{ messageIds: string[] }>;
}

/** A message as the `message` handler receives it. */
export interface QueueMessage<Payload = unknown> {
  readonly id: string;
  /** Resource name of the queue. */
  readonly queueName: string;
  /** Name of the queue in `env`. */
  readonly binding: string;
  /** What was sent. */
  readonly payload: Payload;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** When it was sent, in milliseconds since 1970. */
  readonly timestamp: number;
  /** Takes the message as done, even if the handler throws afterwards. */
  ack(): void;
  /** Asks for another delivery, though the handler does not throw. */
  retry(options?: QueueSendOptions): void;
}

// The guest half of the queue binding: sends messages. How they come in is events/queue.ts. A module of lazy.ts.
import type { BindingModule, LazyParts } from '../lazy.ts';

/** How a message is sent; checked on the host. */
interface SendOptions {
  readonly delaySeconds?: number;
  /** A message with this id is taken once within the queue's time to remember it. */ readonly dedupeId?: string;
  /** Messages with one key are delivered one after the other, in their order. */ readonly orderingKey?: string;
}

export default function createQueue({ callHost }: LazyParts): BindingModule {
  function toMessage(payload: unknown, options: SendOptions | null | undefined): object {
    if (payload === undefined || typeof payload === 'function' || typeof payload === 'symbol')
      throw new TypeError('A message must have a JSON form');
    const { delaySeconds, dedupeId, orderingKey } = options ?? {};
    return { payload, delaySeconds, dedupeId, orderingKey };
  }

  class Queue {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    static address(binding: unknown, payload: unknown, options: unknown): { queue: string; message: object } | null {
      if (typeof binding !== 'object' || binding === null || !(#binding in binding)) return null;
      return { queue: binding.#binding, message: toMessage(payload, options as SendOptions) };
    }

    async #send(messages: readonly object[]): Promise<string[]> {
      const { value } = await callHost('queue.send', { binding: this.#binding, messages });
      return (value as { messageIds: string[] }).messageIds;
    }

    async send(payload: unknown, options?: SendOptions): Promise<{ messageId: string }> {
      return { messageId: (await this.#send([toMessage(payload, options)]))[0] as string };
    }

    /** Messages are `{payload, ...options}`, or `{body, ...options}` as workers of other platforms write them. */
    async sendBatch(messages: Iterable<SendOptions & { payload?: unknown; body?: unknown }>, options?: SendOptions): Promise<object> {
      const list = Array.from(messages, (message) =>
        toMessage('payload' in message ? message.payload : message.body, { ...options, ...message }),
      );
      return { messageIds: await this.#send(list) };
    }

    /** Messages that wait, run and have failed for good. */
    async metrics(): Promise<unknown> {
      const { oldestMessageTimestamp: oldest, ...counts } = (await callHost('queue.metrics', { binding: this.#binding })).value as {
        oldestMessageTimestamp: number | null;
      };
      return oldest === null ? counts : { ...counts, oldestMessageTimestamp: new Date(oldest) };
    }
  }

  return { create: (name) => new Queue(name), address: Queue.address };
}

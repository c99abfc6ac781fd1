// The guest half of the queue binding: sends messages. events/queue.ts receives them. lazy.ts loads this module when it
// is first used.
import type { BindingModule, LazyDeps } from '../lazy.ts';

/** Options of a message, which the host validates. */
interface SendOptions {
  readonly delaySeconds?: number;
  /** Within the queue's deduplication window, a message with a known id is dropped. */
  readonly dedupeId?: string;
  /** Messages with the same key are delivered one at a time, in order. */
  readonly orderingKey?: string;
  /** Encoding of the body: `json` (default), `text`, `bytes`, or `v8` for anything that structuredClone can copy. */
  readonly contentType?: unknown;
}

type Batch = Iterable<SendOptions & { readonly payload?: unknown; readonly body?: unknown }>;

/** Messages for the host: the options and the body of each. The body is encoded here, and decoded by the consumer. */
interface Encoded {
  readonly messages: SendOptions[];
  readonly bodies: string[];
}

export default function createQueue(deps: LazyDeps): BindingModule {
  const { callHost, fromJson, invalidArgument, toBytes, toJson, toOptions, useModule } = deps;

  /**
   * Encodes a body as JSON, which its consumer decodes (events/queue.ts).
   *
   * @throws {TypeError} for an unknown content type, or if the body does not fit the content type.
   */
  function encodeBody(body: unknown, contentType: unknown): string {
    switch (contentType) {
      case undefined:
      case null:
      case 'json': {
        if (body === undefined || typeof body === 'function' || typeof body === 'symbol')
          throw new TypeError('A message must be JSON');
        const text = toJson(body) ?? 'null';
        // A body that resembles an encoded value must be encoded as well.
        return text.includes('$structured') ? stored(fromJson(text)) : text;
      }
      case 'text':
        if (typeof body !== 'string') throw new TypeError('A message of contentType text must be a string');
        return toJson(body);
      case 'bytes':
        return stored(toBytes(body, 'A message of contentType bytes').slice().buffer);
      case 'v8':
        return stored(body);
      default:
        throw new TypeError(`contentType must be json, text, bytes or v8, not ${String(contentType)}`);
    }
  }

  const stored = (value: unknown): string => toJson(useModule('stored-values').toStored(value));

  function add(encoded: Encoded, payload: unknown, options: SendOptions | null | undefined): Encoded {
    const { delaySeconds, dedupeId, orderingKey, contentType } = toOptions('The options of send', options);
    encoded.bodies.push(encodeBody(payload, contentType));
    encoded.messages.push({ delaySeconds, dedupeId, orderingKey } as SendOptions);
    return encoded;
  }

  const encode = (payload: unknown, options: SendOptions | undefined): Encoded =>
    add({ messages: [], bodies: [] }, payload, options);

  const noBatch = (): Error => invalidArgument('sendBatch takes a list of messages: [{ body }, ...]');

  function encodeBatch(batch: Batch, options: SendOptions | undefined): Encoded {
    const encoded: Encoded = { messages: [], bodies: [] };
    const shared = toOptions('The options of sendBatch', options);
    if (typeof batch !== 'object' || batch === null || typeof batch[Symbol.iterator] !== 'function') throw noBatch();
    Array.from(batch, (message) => {
      if (typeof message !== 'object' || message === null) throw noBatch();
      add(encoded, 'payload' in message ? message.payload : message.body, { ...shared, ...message });
    });
    return encoded;
  }

  class Queue {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    /** The queue's name and messages as arguments of a call; null if the value is not a queue. */
    static nameOf(binding: unknown): string | null {
      return typeof binding === 'object' && binding !== null && #binding in binding ? binding.#binding : null;
    }

    async #send({ messages, bodies }: Encoded): Promise<string[]> {
      const { value } = await callHost('queue.send', { binding: this.#binding, messages }, bodies);
      return (value as { messageIds: string[] }).messageIds;
    }

    async send(payload: unknown, options?: SendOptions): Promise<{ messageId: string }> {
      return { messageId: (await this.#send(encode(payload, options)))[0] as string };
    }

    /** Messages are `{payload, ...options}`, or `{body, ...options}` as on other platforms. */
    async sendBatch(messages: Batch, options?: SendOptions): Promise<object> {
      return { messageIds: await this.#send(encodeBatch(messages, options)) };
    }

    /** Returns the numbers of waiting, running and dead messages. */
    async metrics(): Promise<unknown> {
      const { oldestMessageTimestamp: oldest, ...counts } = (
        await callHost('queue.metrics', { binding: this.#binding })
      ).value as {
        oldestMessageTimestamp: number | null;
      };
      return oldest === null ? counts : { ...counts, oldestMessageTimestamp: new Date(oldest) };
    }
  }

  return {
    create: (name) => new Queue(name),
    address(binding, given, options, isBatch) {
      const queue = Queue.nameOf(binding);
      if (queue === null) return null;
      const encoded = isBatch
        ? encodeBatch(given as Batch, options as SendOptions)
        : encode(given, options as SendOptions);
      return { queue, ...encoded };
    },
  };
}

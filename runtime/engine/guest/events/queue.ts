// Messages of a queue, for the worker's `message` handler (one by one) or its `queue` handler (as a batch). The
// result has an outcome for each message; if the handler throws, its messages are delivered again. lazy.ts loads this
// module when it is first used.
import type { LazyDeps } from '../lazy.ts';
import type { EventHandler } from '../dispatch.ts';

/** A delivery from the host. */
interface QueueEvent {
  readonly queueName: string;
  /** Its name in `env`. */
  readonly binding: string;
  readonly messages: readonly {
    readonly id: string;
    /** Only set in an event that an operator injected; otherwise, the value is in a body. */
    readonly payload?: unknown;
    readonly attempt: number;
    readonly timestamp: number;
  }[];
}

interface RetryOptions {
  delaySeconds?: number;
}

type Verdict =
  | { readonly ack: true }
  | {
      readonly ack: false;
      readonly delaySeconds?: number;
      readonly error?: string;
      /** Not retryable. */
      readonly final?: true;
    };

export default function createQueueEvents({
  currentInvocation,
  noHandler,
  reportUncaught,
  fromJson,
  toOptions,
  useModule,
}: LazyDeps): {
  handle: EventHandler;
} {
  const acknowledged: Verdict = { ack: true };

  /** The value that was sent; most bodies are plain JSON. */
  function decodeBody(text: string): unknown {
    const body = fromJson(text) as unknown;
    return text.startsWith('{"$structured"') ? useModule('stored-values').fromStored(body) : body;
  }

  function again(options: RetryOptions | undefined): Verdict {
    const { delaySeconds } = toOptions('The options of retry', options);
    if (delaySeconds === undefined) return { ack: false };
    if (typeof delaySeconds !== 'number' || !(delaySeconds >= 0))
      throw new TypeError('delaySeconds must be a number of at least 0');
    return { ack: false, delaySeconds };
  }

  function failure(error: unknown): Verdict {
    reportUncaught(error, 'Uncaught', currentInvocation());
    const { name } = (error ?? {}) as { name?: unknown };
    return { ack: false, error: textOf(error), ...(name === 'NonRetryableError' ? { final: true } : {}) };
  }

  return {
    async handle(worker, env, context, event, bodies) {
      const { queueName, binding, messages } = event as QueueEvent;
      const payloads = messages.map(({ payload }, index) =>
        index < bodies.length ? decodeBody(bodies[index] as string) : payload,
      );
      // Outcomes by position; only the first outcome of a message is used.
      const verdicts: (Verdict | undefined)[] = messages.map(() => undefined);
      /** The first error of the handler. */
      let thrown: string | null = null;
      const decide = (index: number, verdict: Verdict): void => void (verdicts[index] ??= verdict);
      if (typeof worker?.['message'] === 'function') {
        for (const [index, { id, attempt, timestamp }] of messages.entries()) {
          const delivered = {
            id,
            payload: payloads[index],
            attempt,
            timestamp,
            body: payloads[index],
            attempts: attempt,
            queueName,
            binding,
            ack: () => decide(index, acknowledged),
            retry: (options?: RetryOptions) => decide(index, again(options)),
          };
          try {
            await worker['message'](delivered, env, context);
            decide(index, acknowledged);
          } catch (error) {
            decide(index, failure(error));
            thrown ??= textOf(error);
          }
        }
      } else if (typeof worker?.['queue'] === 'function') {
        const batch = {
          queue: queueName,
          messages: messages.map((message, index) => ({
            id: message.id,
            timestamp: new Date(message.timestamp),
            body: payloads[index],
            payload: payloads[index],
            attempts: message.attempt,
            ack: () => decide(index, acknowledged),
            retry: (options?: RetryOptions) => decide(index, again(options)),
          })),
          ackAll: () => messages.forEach((_, index) => decide(index, acknowledged)),
          retryAll: (options?: RetryOptions) => messages.forEach((_, index) => decide(index, again(options))),
        };
        let rest: Verdict = acknowledged;
        try {
          await worker['queue'](batch, env, context);
        } catch (error) {
          rest = failure(error);
          thrown = textOf(error);
        }
        messages.forEach((_, index) => decide(index, rest));
      } else throw noHandler('message');
      const acked: string[] = [];
      const retry: { id: string; delaySeconds?: number; error?: string; final?: true }[] = [];
      for (const [index, { id }] of messages.entries()) {
        const { ack, ...why } = verdicts[index] as Verdict;
        if (ack) acked.push(id);
        else retry.push({ id, ...why });
      }
      return { acked, retry, ...(thrown === null ? {} : { thrown }) };
    },
  };
}

function textOf(error: unknown): string {
  return String((error as { message?: unknown } | null | undefined)?.message ?? error);
}

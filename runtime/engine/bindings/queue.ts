// The host half of the queue binding: sends messages. Arguments are validated here; runtime/stores/queue-sql.ts
// stores messages, and the broker delivers them (runtime/broker/work/queue.ts).
import { randomUUID } from 'node:crypto';
import { fixedLimits, type DeliveryLimits } from '#core/limits.ts';
import { deadLettersOf, type QueuesSettings } from '#core/queue-settings.ts';
import type { HostFunction } from '../bridge/host-calls.ts';
import { invalid, toName, toRecord } from './arguments.ts';
import type { BindingScope } from './scope.ts';
import { carriedTrace } from './trace-headers.ts';

/** One queue, isolated from all others. */
export interface QueuePlace {
  readonly namespace: string;
  readonly resource: string;
  /** Queue for its dead letters; by default `<resource>_dlq`. */
  readonly deadLetter?: string | null;
}

/** The sender, which determines the recipient. */
export interface EventSender {
  readonly project: string;
  readonly branch: string;
  /** Name under which the sender knows the resource. */
  readonly binding: string;
  /** The trace of the sender, as `traceparent`; absent or null if there is none. */
  readonly trace?: string | null;
}

/** A message to be stored. */
export interface NewMessage {
  readonly id: string;
  /** The body in the sender's encoding, which only the consumer decodes. */
  readonly payload: string;
  /** ms since 1970. */
  readonly dueAt: number;
  readonly dedupeId: string | null;
  readonly orderingKey: string | null;
}

/** State of a queue. */
interface QueueMetrics {
  /** Number of messages that wait or are being delivered. */
  readonly backlogCount: number;
  readonly backlogBytes: number;
  /** Messages being delivered. */
  readonly inFlightCount: number;
  /** When the oldest message was sent, in ms since 1970, or null. */
  readonly oldestMessageTimestamp: number | null;
  /** Number of messages that failed permanently. */
  readonly deadCount: number;
}

/** A message as operators see it. */
export interface StoredMessage {
  readonly id: string;
  readonly payload: string;
  /** Number of attempts so far, or before the message became a dead letter. */
  readonly attempt: number;
  readonly timestamp: number;
  /** Time of the next delivery; null if the message is not delivered automatically. */
  readonly dueAt: number | null;
  readonly deadReason: string | null;
}

/** Stores messages. Accepted messages are durable. */
export interface QueueStore {
  /**
   * Stores all messages or none; returns the ids in order. A known dedupe id returns its first message id and stores
   * nothing.
   */
  send(place: QueuePlace, sender: EventSender, messages: readonly NewMessage[], now: number): Promise<string[]>;
  metrics(place: QueuePlace, now: number): Promise<QueueMetrics>;
  /** Lists messages in the order in which they were sent; the next page begins after the number of the last message. */
  list(
    place: QueuePlace,
    page: { limit: number; after: number },
  ): Promise<{ messages: StoredMessage[]; next: number | null }>;
  /** Deletes a message, unless it is being delivered; returns whether it was deleted. */
  remove(place: QueuePlace, id: string): Promise<boolean>;
  /** Returns all dead letters of a queue, or one of them, to the queue; returns their number. */
  redrive(place: QueuePlace, now: number, id?: string | null): Promise<number>;
  /** Deletes all messages that are not being delivered; returns how many. */
  purge(place: QueuePlace): Promise<number>;
}

const { messageNameBytesMax } = fixedLimits.events;

/** The calls of a deployment's queue bindings. Arguments: `{binding, ...}`. */
export function createQueueCalls(
  scope: BindingScope,
  store: QueueStore,
  limits: DeliveryLimits,
  queues: QueuesSettings = {},
  now: () => number = Date.now,
): Readonly<Record<string, HostFunction>> {
  return {
    /**
     * Takes `{messages: {delaySeconds?, dedupeId?, orderingKey?}[]}`, with the bodies as parts; returns `{messageIds}`.
     */
    async 'queue.send'(call) {
      const { binding, messages } = toRecord(call.args);
      const place = { namespace: scope.namespace, resource: scope.resource(binding) };
      call.owner.countSubrequest();
      const time = now();
      const taken = toNewMessages(messages, call.parts, time, limits);
      const sender = {
        project: scope.project,
        branch: scope.branch,
        binding: binding as string,
        trace: carriedTrace(call),
      };
      call.span?.set('messaging.destination.name', place.resource);
      call.span?.set('messaging.batch.message_count', taken.length);
      return { value: { messageIds: await store.send(place, sender, taken, time) } };
    },
    async 'queue.metrics'(call) {
      const resource = scope.resource(toRecord(call.args)['binding']);
      call.owner.countSubrequest();
      const deadLetter = deadLettersOf(queues, resource);
      return { value: await store.metrics({ namespace: scope.namespace, resource, deadLetter }, now()) };
    },
  };
}

/**
 * Validates messages of a worker: `{delaySeconds?, dedupeId?, orderingKey?}` for each, and the bodies in the same
 * order.
 *
 * @throws {PlatformError} `invalid_argument`.
 */
export function toNewMessages(
  messages: unknown,
  bodies: readonly unknown[],
  time: number,
  limits: DeliveryLimits,
): NewMessage[] {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('There must be at least one message');
  if (messages.length > limits.batchMessagesMax)
    throw invalid(`A batch has ${messages.length} messages, and may have ${limits.batchMessagesMax}`);
  if (bodies.length !== messages.length) throw invalid('Each message must have a body');
  let bytes = 0;
  const taken = messages.map((message, index): NewMessage => {
    const { delaySeconds, dedupeId, orderingKey } = toRecord(message);
    const payload = bodies[index];
    // Postgres text cannot contain NUL, and JSON does not need it.
    if (typeof payload !== 'string' || payload.includes('\0')) throw invalid('The message must be JSON');
    const size = Buffer.byteLength(payload);
    if (size > limits.messageBytesMax)
      throw invalid(`The message has ${size} bytes as JSON, and may have ${limits.messageBytesMax}`);
    bytes += size;
    return {
      id: randomUUID(),
      payload,
      dueAt: time + toDelayMs(delaySeconds, limits.delayMsMax),
      dedupeId: dedupeId == null ? null : toName(dedupeId, 'dedupeId', messageNameBytesMax),
      orderingKey: orderingKey == null ? null : toName(orderingKey, 'orderingKey', messageNameBytesMax),
    };
  });
  if (bytes > limits.batchBytesMax)
    throw invalid(`The batch has ${bytes} bytes as JSON, and may have ${limits.batchBytesMax}`);
  return taken;
}

/** Validates seconds from a worker, which may have a fraction. */
function toDelayMs(seconds: unknown, most: number): number {
  if (seconds === undefined || seconds === null) return 0;
  if (typeof seconds !== 'number' || !(seconds >= 0)) throw invalid('delaySeconds must be a number of at least 0');
  if (seconds * 1000 > most) throw invalid(`delaySeconds must be at most ${most / 1000}`);
  return Math.round(seconds * 1000);
}

// What the cases of the broker's contract are written with: how an engine answers, messages, and the shape of a case.
// Used by broker.ts and the files of its chapters, broker-*.ts.
import type { DeliveryLimits } from '#core/limits.ts';
import type { NewMessage } from '#runtime/engine/bindings/queue.ts';
import type { Broker } from '#runtime/broker/broker.ts';
import type { WorkDeps } from '#runtime/broker/delivery/delivery.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import type { DeliveryEnd } from '#runtime/engine/invocation/delivery.ts';
import { failed, ok, type FailureCode } from '#runtime/engine/invocation/outcome.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';

export type Deliver = (
  event: Record<string, unknown>,
  kind: EventKind,
  signal: AbortSignal,
  deployment: string,
) => Promise<DeliveryEnd> | DeliveryEnd;

export const sender = { project: 'shop', branch: 'main', binding: 'MAIL' };
export const owner = { project: 'shop', branch: 'main', deployment: 'd000000000001' };
export const mail = { namespace: 'shop', resource: 'mail' };

export const done = (result: unknown = null): DeliveryEnd => ({
  outcome: ok,
  result: JSON.stringify(result),
  cpuMs: 1,
});
export const end = (code: FailureCode): DeliveryEnd => ({ outcome: failed(code), result: null, cpuMs: 1 });

/** An event as its handler sees it: the bodies decoded and in their places. */
export function eventOf(kind: EventKind, { head, bodies }: EventContent): Record<string, unknown> {
  const event = JSON.parse(head) as Record<string, unknown>;
  const [first, ...rest] = bodies.map((body) => JSON.parse(body) as unknown);
  if (kind === 'queue') {
    const messages = event['messages'] as object[];
    return { ...event, messages: messages.map((message, n) => ({ ...message, payload: [first, ...rest][n] })) };
  }
  if (kind === 'timer') return { ...event, payload: first };
  return kind === 'workflow' ? { ...event, ...(first as object) } : event;
}

export interface Messages {
  readonly queueName: string;
  readonly messages: readonly {
    readonly id: string;
    readonly payload: unknown;
    readonly attempt: number;
    readonly timestamp: number;
  }[];
}

export function message(id: string, fields: Partial<NewMessage> = {}): NewMessage {
  return { id, payload: JSON.stringify(id), dueAt: Date.now(), dedupeId: null, orderingKey: null, ...fields };
}

/** What a case works with. */
interface Setting {
  readonly stores: EventStores;
  readonly said: string[];
  /** Moves the broker's clock. */
  pass(ms: number): void;
  now(): number;
  start(deliver: Deliver, deps?: Partial<WorkDeps>): Promise<Broker>;
}

/** One case: a fact, and how it is shown. */
export type Fact = (title: string, run: (setting: Setting) => Promise<void>, changed?: Partial<DeliveryLimits>) => void;

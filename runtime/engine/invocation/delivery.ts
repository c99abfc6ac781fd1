// An event other than a request (a queue message, a timer, a cron run, a step of a workflow), and the callback for
// its result. Created by handler.ts for the broker, in process or over the private port.
import type { EventContent, EventKind } from '#core/event.ts';
import type { Outcome } from './outcome.ts';

/** An event being delivered to a worker. */
export interface Delivery {
  readonly kind: EventKind;
  readonly event: EventContent;
  /** Called once, when the invocation has ended. */
  readonly onEnd: (end: DeliveryEnd) => void;
  /** The result of the handler as JSON; set before the end. */
  result: string | null;
}

/** Result of an event. */
export interface DeliveryEnd {
  readonly outcome: Outcome;
  /** The result as JSON; null unless the outcome is `ok`. */
  readonly result: string | null;
  readonly cpuMs: number;
}

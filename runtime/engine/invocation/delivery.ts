// An event that is no request (a queue message, a timer, a cron run, a step of a workflow), and who waits for what
// becomes of it. Made by handler.ts for whoever delivers: the broker, in process or over the private port.
import type { EventContent, EventKind } from '#core/event.ts';
import type { Outcome } from './outcome.ts';

/** One event on its way into a worker. */
export interface Delivery {
  readonly kind: EventKind;
  readonly event: EventContent;
  /** Called once, when the invocation has ended. */
  readonly onEnd: (end: DeliveryEnd) => void;
  /** JSON of what the handler's module answered; set before the end. */
  result: string | null;
}

/** What became of an event. */
export interface DeliveryEnd {
  readonly outcome: Outcome;
  /** JSON of the result; null unless the outcome is ok. */
  readonly result: string | null;
  readonly cpuMs: number;
}

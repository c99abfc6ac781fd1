// Events for a worker besides requests: messages of queues, timers, schedules, runs of workflows. Also lists the kinds
// of events. Pure.

export const eventKinds = ['queue', 'timer', 'cron', 'workflow'] as const;
export type EventKind = (typeof eventKinds)[number];

export function isEventKind(kind: unknown): kind is EventKind {
  return (eventKinds as readonly unknown[]).includes(kind);
}

/** An event for a worker. User data is in the bodies and passes through unchanged. */
export interface EventContent {
  /** The platform's data about the event as JSON, in the shape of runtime/engine/guest/events/. */
  readonly head: string;
  /** The bodies of a queue's messages in order; a timer's payload; a run's input and steps. */
  readonly bodies: readonly string[];
  /** Traces that led to the event, each as `traceparent`; the worker's trace continues the first of them. */
  readonly traces?: readonly string[];
}

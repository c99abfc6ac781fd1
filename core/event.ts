// Events for a worker besides requests: messages of queues, timers, schedules, runs of workflows. The list of their
// kinds. Pure.

export const eventKinds = ['queue', 'timer', 'cron', 'workflow'] as const;
export type EventKind = (typeof eventKinds)[number];

export function isEventKind(kind: unknown): kind is EventKind {
  return (eventKinds as readonly unknown[]).includes(kind);
}

/** An event for a worker. User data is in the bodies and passes through unchanged. */
export interface EventContent {
  /** JSON of the platform's data about it, in the shape of runtime/engine/guest/events/. */
  readonly head: string;
  /** The bodies of a queue's messages in order; a timer's payload; a run's input and steps. */
  readonly bodies: readonly string[];
  /** Traces that led to it, each as `traceparent`; its own work continues the first. */
  readonly traces?: readonly string[];
}

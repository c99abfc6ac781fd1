// What comes to a worker beside requests: messages of queues, timers, schedules, runs of workflows. The one list of
// their kinds. Pure.

export const eventKinds = ['queue', 'timer', 'cron', 'workflow'] as const;
export type EventKind = (typeof eventKinds)[number];

export function isEventKind(kind: unknown): kind is EventKind {
  return (eventKinds as readonly unknown[]).includes(kind);
}

/** An event on its way into a worker. What users wrote is in the bodies, and passes through as it is. */
export interface EventContent {
  /** JSON of what the platform says of it, in the shape of runtime/engine/guest/events/. */
  readonly head: string;
  /** The bodies of a queue's messages in their order; a timer's payload; a run's input and steps. */
  readonly bodies: readonly string[];
  /** Traces that led to it, each as `traceparent`; what goes on with it goes on with the first. */
  readonly traces?: readonly string[];
}

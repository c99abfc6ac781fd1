// What comes to a worker beside requests: messages of queues, timers, schedules, runs of workflows. The one list of
// their kinds. Pure.

export const eventKinds = ['queue', 'timer', 'cron', 'workflow'] as const;
export type EventKind = (typeof eventKinds)[number];

export function isEventKind(kind: unknown): kind is EventKind {
  return (eventKinds as readonly unknown[]).includes(kind);
}

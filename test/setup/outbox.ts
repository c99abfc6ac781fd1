// An outbox between databases and queues for tests: of one project, and whatever it complains of fails the test.
import assert from 'node:assert/strict';
import type { DeliveryLimits } from '#core/limits.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { createOutbox, type OutboxDeps, type RunningOutbox } from '#runtime/stores/outbox.ts';

/** @param deps overrides of the defaults. */
export function openOutbox(
  databases: OutboxDeps['databases'],
  events: EventStores,
  limits: DeliveryLimits,
  deps: Partial<OutboxDeps> = {},
): RunningOutbox {
  return createOutbox({
    databases,
    queue: events.queue,
    index: events.outboxes,
    limits,
    owns: (namespace, project) => namespace === project,
    now: Date.now,
    log: (_level, message) => assert.fail(message),
    ...deps,
  });
}

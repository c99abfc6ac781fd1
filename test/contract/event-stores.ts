// What every technology of queues, timers, cron and workflows keeps to, store by store. Each runs it from a test file
// of its own; each test has fresh stores. Times are given, so nothing waits.
import { test } from 'node:test';
import { defaultLimits, type DeliveryLimits } from '#core/limits.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import type { Fact } from './event-stores-case.ts';
import { queueCases } from './event-stores-queue.ts';
import { timerCases } from './event-stores-timer.ts';
import { workflowCases } from './event-stores-workflow.ts';

type OpenStores = (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>;

/** Registers the suite's tests. */
export function eventStoresContract(open: OpenStores): void {
  const fact: Fact = (title, run, limits = {}) => {
    test(title, async () => {
      const { stores, close } = await open({ ...defaultLimits.delivery, ...limits });
      try {
        await run(stores);
      } finally {
        await close();
      }
    });
  };

  queueCases(fact);
  timerCases(fact);
  workflowCases(fact);
}

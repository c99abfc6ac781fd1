// A handler with a worker, the stores of events and a broker between them, in this process: for tests of workflows.
import { defaultLimits, type DeliveryLimits } from '#core/limits.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { startBroker } from '#runtime/broker/broker.ts';
import { toEventEnd } from '#runtime/broker/delivery/delivery.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { startHandler, type TestHandler, type WorkerSource } from './handler.ts';

/** Opens the stores of a technology. */
export type OpenStores = (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>;

/** A worker whose workflows run. */
export interface WorkflowEngine {
  readonly handler: TestHandler;
  close(): Promise<void>;
}

/** Serves one worker as the project `shop`. */
export async function startWorkflowEngine(source: WorkerSource, open: OpenStores): Promise<WorkflowEngine> {
  const limits = { ...defaultLimits.delivery, pollMs: 50, backoffMs: 20, backoffMsMax: 40 };
  const opened = await open(limits);
  const { stores } = opened;
  const given = { stores: { state: null, files: null, events: { ...stores, limits } } };
  const handler = await startHandler({ shop: source }, {}, given);
  const presence = await stores.join(() => {});
  const broker = await startBroker({
    stores,
    wake: stores.wake,
    presence,
    nextTime,
    resolve: ({ deployment }) => deployment ?? handler.deploymentOf('shop'),
    deliver: async (deployment, kind, event) => toEventEnd(await handler.handler.deliver(deployment, kind, event)),
    limits,
    now: Date.now,
    random: () => 0,
    onEvent: () => {},
  });
  return {
    handler,
    async close() {
      await broker.close(1000);
      await presence.close();
      await handler.close();
      await opened.close();
    },
  };
}

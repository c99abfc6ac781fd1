// What a broker keeps to over every technology of its stores: engines are stood in for by functions, everything else is
// real.
import { test } from 'node:test';
import { defaultLimits, type DeliveryLimits } from '#core/limits.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { startBroker, type Broker } from '#runtime/broker/broker.ts';
import { toEventEnd } from '#runtime/broker/delivery/delivery.ts';
import type { EventStores } from '#runtime/stores/event-stores.ts';
import { owner, type Fact, eventOf } from './broker-case.ts';
import { queueCases } from './broker-queue.ts';
import { timerCases } from './broker-timer.ts';
import { workflowCases } from './broker-workflow.ts';

type OpenBrokerStores = (limits: DeliveryLimits) => Promise<{ stores: EventStores; close(): Promise<void> }>;

/** Registers the suite's tests. */
export function brokerContract(open: OpenBrokerStores): void {
  const fact: Fact = (title, run, changed = {}) => {
    test(title, async () => {
      const limits = { ...defaultLimits.delivery, pollMs: 20, backoffMs: 10, backoffMsMax: 20, ...changed };
      const { stores, close } = await open(limits);
      const said: string[] = [];
      const brokers: Broker[] = [];
      const presences: { close(): Promise<void> }[] = [];
      let passed = 0;
      const now = (): number => Date.now() + passed;
      try {
        await run({
          stores,
          said,
          now,
          pass: (ms) => void (passed += ms),
          async start(deliver, deps = {}) {
            const presence = await stores.join(() => {});
            presences.push(presence);
            const broker = await startBroker({
              stores,
              wake: stores.wake,
              presence,
              nextTime,
              resolve: ({ deployment }) => deployment ?? owner.deployment,
              deliver: async (deployment, kind, event, signal) =>
                toEventEnd(await deliver(eventOf(kind, event), kind, signal, deployment)),
              limits,
              now,
              random: () => 0,
              onEvent: (_level, text) => void said.push(text),
              ...deps,
            });
            brokers.push(broker);
            return broker;
          },
        });
      } finally {
        await Promise.all(brokers.map((broker) => broker.close(0)));
        await Promise.all(presences.map((presence) => presence.close()));
        await close();
      }
    });
  };

  queueCases(fact);
  timerCases(fact);
  workflowCases(fact);
}

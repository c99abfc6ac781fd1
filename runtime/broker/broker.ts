// The broker: one claim loop per kind over the given stores, delivering to engines by `deliver`. The broker runs no
// tenant code. Created by main.ts (a process next to the engines) and by the main module of `platform dev`.
import { type CpuLimits, defaultLimits } from '#core/limits.ts';
import { plans } from '#core/plans.ts';
import { startClaimLoop, type ClaimLoop, type ClaimSource, type Work } from '#postgres/claim-loop.ts';
import type { Presence } from '#postgres/presence.ts';
import type { Wake } from '#postgres/wake.ts';
import { eventKinds, type EventKind } from '#core/event.ts';
import type { WorkDeps } from './delivery/delivery.ts';
import { createQueueWork, type Message, type QueueLedger } from './work/queue.ts';
import { createTimerWork, type DueTimer, type NextTime, type TimerLedger } from './work/timer.ts';
import { createWorkflowWork, type Run, type WorkflowLedger } from './work/workflow.ts';

interface Sweeping {
  sweep(now: number): Promise<void>;
}
type Claiming<Row extends Message | DueTimer | Run> = { readonly claims: ClaimSource<Row> };

/** Stores of waiting events. */
interface BrokerStores<M extends Message, T extends DueTimer, R extends Run> {
  readonly queue: QueueLedger<M> & Claiming<M> & Sweeping;
  readonly timer: TimerLedger<T> & Claiming<T>;
  readonly cron: TimerLedger<T> & Claiming<T>;
  readonly workflow: WorkflowLedger<R> & Claiming<R> & Sweeping;
}

/** Dependencies of a broker. */
interface BrokerDeps<M extends Message, T extends DueTimer, R extends Run> extends WorkDeps {
  readonly stores: BrokerStores<M, T, R>;
  readonly wake: Wake;
  readonly presence: Presence;
  readonly nextTime: NextTime;
  /** CPU limit of an event, which is shorter than its lease. */
  readonly cpu?: CpuLimits;
}

/** A running broker. */
export interface Broker {
  /** The number of events that are being delivered, by kind. */
  readonly inFlight: Readonly<Record<EventKind, number>>;
  /** Stops claiming events, and waits up to `drainMs` for running work. */
  close(drainMs: number): Promise<void>;
}

const LEASE_MS_MIN = 30_000;
const LEASE_MARGIN_MS = 5000;
const SWEEP_MS = 600_000;

/**
 * Lease time of events of a kind. The lease is renewed while they run, and expires this long after the broker's death.
 */
function leaseMs(kind: EventKind, cpu: CpuLimits = defaultLimits.cpu): number {
  return Math.max(LEASE_MS_MIN, ...plans.map((plan) => cpu[kind][plan] + LEASE_MARGIN_MS));
}

export async function startBroker<M extends Message, T extends DueTimer, R extends Run>(
  deps: BrokerDeps<M, T, R>,
): Promise<Broker> {
  const { stores, wake, presence, limits, now } = deps;
  const loops = new Map<EventKind, ClaimLoop>();
  const onTrouble = (message: string, error: unknown): void =>
    deps.onEvent('error', message, { reason: String((error as Error)?.message ?? error) });

  async function start<Row extends M | T | R>(
    kind: EventKind,
    source: ClaimSource<Row>,
    work: Work<Row>,
  ): Promise<void> {
    const loop = await startClaimLoop({
      source,
      work,
      wake,
      member: presence.id,
      isGone: (other) => presence.isGone(other),
      leaseMs: leaseMs(kind, deps.cpu),
      pollMs: limits.pollMs,
      inFlightMax: limits.inFlightMax,
      now,
      onTrouble,
    });
    loops.set(kind, loop);
  }

  await start('queue', stores.queue.claims, createQueueWork(deps, stores.queue, wake));
  await start('timer', stores.timer.claims, createTimerWork('timer', deps, stores.timer, deps.nextTime, wake));
  await start('cron', stores.cron.claims, createTimerWork('cron', deps, stores.cron, deps.nextTime, wake));
  await start('workflow', stores.workflow.claims, createWorkflowWork(deps, stores.workflow, wake));
  const sweep = (): void => {
    for (const store of [stores.queue, stores.workflow])
      store.sweep(now()).catch((error: unknown) => onTrouble('sweep failed', error));
  };
  const sweeping = setInterval(sweep, SWEEP_MS);
  sweep();

  return {
    get inFlight() {
      return Object.fromEntries(eventKinds.map((kind) => [kind, loops.get(kind)?.inFlight ?? 0])) as Record<
        EventKind,
        number
      >;
    },
    async close(drainMs) {
      clearInterval(sweeping);
      await Promise.all([...loops.values()].map((loop) => loop.close(drainMs)));
    },
  };
}

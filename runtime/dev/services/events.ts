// Queues, timers, cron and workflows of `platform dev`: SQLite in its state folder, and a broker in this process that
// delivers to the only deployment. Several projects of a workspace share the file; events without a consumer here
// belong to another project.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { limitsFrom } from '#core/limits.ts';
import type { FreeSpace } from '#core/process/free-space.ts';
import type { Manifest } from '#core/manifest.ts';
import type { QueuesSettings } from '#core/queue-settings.ts';
import { unlimitedStorage } from '#core/storage-left.ts';
import type { EventBindingStores } from '../../engine/bindings/bindings.ts';
import { nextTime } from '#core/schedules/timer-next.ts';
import { startBroker, type Broker } from '../../broker/broker.ts';
import { toEventEnd } from '../../broker/delivery/delivery.ts';
import type { EventContent, EventKind } from '#core/event.ts';
import type { DeliveryEnd } from '../../engine/invocation/delivery.ts';
import { limitedStores, type EventStores } from '../../stores/event-stores.ts';
import { openEventsSqlite } from '../../stores/event-stores-sqlite.ts';

/** The event stores on a developer's machine. */
interface LocalEvents {
  readonly bindings: EventBindingStores;
  /** For the dashboard. */
  readonly stores: EventStores;
  /** Sets the current deployment, which gets the events, and whose schedules run. */
  deploy(deployment: string, manifest: Manifest): Promise<void>;
  /** Stops delivering; the deployment may still send messages and set timers. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Options. */
interface LocalEventsOptions {
  /** `.platform` of the project or its workspace. */
  readonly folder: string;
  readonly namespace: string;
  /** Name that distinguishes the project from others of its workspace. */
  readonly project: string;
  readonly branch: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Storage limit for queues of the project, or of its workspace. */
  readonly queueBytesMax: number;
  /** The free space of the folder's disk. */
  readonly space: FreeSpace;
  readonly deliver: (deployment: string, kind: EventKind, event: EventContent) => Promise<DeliveryEnd>;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

/** Polling interval, because other processes that add messages cannot wake this one. */
const POLL_MS = 250;
const DRAIN_MS = 2000;

export function openLocalEvents(options: LocalEventsOptions): LocalEvents {
  const limits = { ...limitsFrom(options.environment).delivery, pollMs: POLL_MS };
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const stores = openEventsSqlite({ file: join(options.folder, 'events.sqlite'), limits });
  const { namespace, project, branch } = options;
  let current: string | null = null;
  let broker: Promise<Broker> | null = null;
  let queues: QueuesSettings = {};
  /**
   * Queues whose concurrency this project has set; another project of the workspace may have set that of other queues.
   */
  const limited = new Set<string>();

  async function start(): Promise<Broker> {
    const presence = await stores.join(() => {});
    return startBroker({
      stores,
      wake: stores.wake,
      presence,
      nextTime,
      // A run continues with the current code, which must match the history of the run.
      resolve: (recipient) =>
        (recipient.kind === 'timer' || recipient.kind === 'cron') && recipient.project !== project ? null : current,
      deliver: async (deployment, kind, event) => toEventEnd(await options.deliver(deployment, kind, event)),
      othersMayTake: true,
      queues: () => queues,
      limits,
      now: Date.now,
      random: Math.random,
      onEvent: (level, message, fields) => {
        // The event belongs to another project, or waits for code that does not exist yet.
        if (level !== 'info') options.log(level, `${message}: ${JSON.stringify(fields)}`);
      },
    });
  }

  return {
    bindings: {
      ...limitedStores(stores, {
        space: options.space,
        storage: unlimitedStorage,
        queueBytesMax: options.queueBytesMax,
        limit: null,
      }),
      limits,
    },
    stores,
    async deploy(deployment, manifest) {
      current = deployment;
      const crons = Object.entries(manifest.cron).map(([name, cron]) => ({ name, ...cron }));
      await stores.cron.declare({ namespace, resource: project }, { project, branch }, crons, Date.now());
      await stores.queue.lanes.consume(namespace, Object.values(manifest.bindings['queue'] ?? {}));
      queues = manifest.queues ?? {};
      for (const [resource, { maxConcurrency }] of Object.entries(queues))
        if (maxConcurrency !== undefined) limited.add(resource);
      const atATime = [...limited].map((resource) => [resource, queues[resource]?.maxConcurrency ?? 0]);
      await stores.queue.lanes.limit(namespace, Object.fromEntries(atATime) as Record<string, number>);
      await (broker ??= start());
    },
    async stop() {
      await (await broker)?.close(DRAIN_MS);
      broker = null;
    },
    close: () => stores.close(),
  };
}

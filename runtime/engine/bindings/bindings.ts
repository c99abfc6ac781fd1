// The stores and tools over which the host halves of bindings work. The roots open them, and kinds/ uses them. This
// file contains only types.
import type { DeliveryLimits } from '#core/limits.ts';
import type { HostWork } from '../work/host-work.ts';
import type { AuthStore } from './auth.ts';
import type { CacheStore } from './cache.ts';
import type { DatabaseStore } from './database.ts';
import type { FileStore, SignUrl } from './files.ts';
import type { PoolAccess } from './hyperdrive.ts';
import type { Outbox } from './outbox.ts';
import type { QueueStore } from './queue.ts';
import type { SandboxAccess } from './sandbox.ts';
import type { SandboxRemoval } from './sandbox-removal.ts';
import type { WorkerCalls } from './worker-calls.ts';
import type { DatabasePlace } from './scope.ts';
import type { StateStore } from './state.ts';
import type { TimerStore } from './timer.ts';
import type { WorkflowStore } from './workflow.ts';

/** The stores of bindings; null if the handler was started without that store. */
export interface BindingStores {
  readonly auth?: AuthStore | null;
  readonly database?: DatabaseStore | null;
  readonly state: StateStore | null;
  readonly files: FileStore | null;
  /** Stores of queues, timers and workflows. */
  readonly events?: EventBindingStores | null;
}

/** The stores that bindings of workers use. */
export interface BindingEventStores {
  readonly queue: QueueStore;
  readonly timer: TimerStore;
  readonly workflow: WorkflowStore;
}

/** Stores of queues, timers and workflows; a broker over the same database delivers them. */
export interface EventBindingStores extends BindingEventStores {
  readonly limits: DeliveryLimits;
  /** Messages sent by database transactions; null if there are no databases. */
  readonly outbox?: Outbox | null;
}

/** Functions of the handler that host halves use in addition to their store. */
export interface BindingTools {
  /** Signs URLs for the host of the current request; null if this handler signs no URLs. */
  readonly signUrl: ((host: string | null) => SignUrl) | null;
  /**
   * Runs work that would block the main thread for too long. Without this function, all work runs on the main thread.
   */
  readonly work?: HostWork;
  readonly cache: CacheStore;
  readonly cacheEntryBytesMax: number;
  /** Undefined if this handler serves no calls between workers. */
  readonly workers?: WorkerCalls;
  /** Undefined or null if there is no sandbox service. */
  readonly sandboxes?: SandboxAccess | null;
  /** Connections to the Postgres servers of projects, if this handler has any. */
  readonly pools?: PoolAccess;
}

/** The stores that contain data of branches; each is null if it does not exist. */
export interface BranchStores {
  readonly databases: {
    list(namespace: string, after?: string): Promise<readonly { readonly resource: string }[]>;
    remove(place: DatabasePlace): Promise<boolean>;
  } | null;
  readonly state: Pick<StateStore, 'list' | 'delete'> | null;
  readonly files: Pick<FileStore, 'clear'> | null;
  readonly events: {
    clear(namespace: string): Promise<{ messages: number; timers: number; runs: number }>;
    readonly outboxes: { forget(place: DatabasePlace): Promise<void> };
  } | null;
  readonly sandboxes: SandboxRemoval | null;
}

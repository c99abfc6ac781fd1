// The host calls of a deployment's bindings: for each declared kind, the host half over the store that the root
// chose. The only place that knows all kinds; handler.ts calls it once per deployment.
import type { DeliveryLimits } from '#core/limits.ts';
import { PlatformError } from '#core/errors.ts';
import type { Manifest } from '#core/manifest.ts';
import { ofPreview } from '#core/preview.ts';
import type { HostFunction } from '../bridge/host-calls.ts';
import type { HostWork } from '../work/host-work.ts';
import { bindingNames, hostCalls } from '../bridge/protocol.ts';
import { createAuthCalls, type AuthStore } from './auth.ts';
import type { CacheStore } from './cache.ts';
import { createCacheValueCalls } from './cache-values.ts';
import { createDatabaseCalls, type DatabaseStore } from './database.ts';
import type { Outbox } from './outbox.ts';
import { createFileCalls, type FileStore, type SignUrl } from './files.ts';
import { createSandboxCalls, type SandboxAccess } from './sandbox.ts';
import { createScope, type BindingOwner, type BindingScope } from './scope.ts';
import { createQueueCalls, type QueueStore } from './queue.ts';
import { createStateCalls, type StateStore } from './state.ts';
import { createTimerCalls, type TimerStore } from './timer.ts';
import { createWorkflowCalls, type WorkflowStore } from './workflow.ts';

/** The stores of bindings; null: the handler was started without that store. */
export interface BindingStores {
  readonly auth?: AuthStore | null;
  readonly database?: DatabaseStore | null;
  readonly state: StateStore | null;
  readonly files: FileStore | null;
  /** Stores of queues, timers and workflows. */
  readonly events?: EventBindingStores | null;
}

/** Stores of queues, timers and workflows; a broker over the same database delivers them. */
export interface EventBindingStores {
  readonly queue: QueueStore;
  readonly timer: TimerStore;
  readonly workflow: WorkflowStore;
  readonly limits: DeliveryLimits;
  /** Messages sent by database transactions; null: there are no databases. */
  readonly outbox?: Outbox | null;
}

/** Handler functions that host halves use besides their store. */
export interface BindingTools {
  /** Null when this handler signs no URLs. `host`: of the current request. */
  readonly signUrl: ((host: string | null) => SignUrl) | null;
  /** Runs work that would block the main thread for too long; absent: all work runs on the main thread. */
  readonly work?: HostWork;
  readonly cache: CacheStore;
  readonly cacheEntryBytesMax: number;
  /** Absent or null: there is no sandbox service. */
  readonly sandboxes?: SandboxAccess | null;
}

/** Binding declarations of a deployment. */
type Declared = Pick<Manifest, 'bindings' | 'queues'>;
type Calls = Readonly<Record<string, HostFunction>>;

/** Kind in platform.yaml -> its calls; null when its store is missing. */
const kinds: Readonly<
  Record<
    string,
    (
      scope: BindingScope,
      stores: BindingStores,
      tools: BindingTools,
      queues: BindingScope,
      manifest: Declared,
    ) => Calls | null
  >
> = {
  auth: (scope, { auth }) => (auth ? createAuthCalls(ofPreview(scope.namespace, scope.preview), auth) : null),
  cache: (scope, _stores, { cache, cacheEntryBytesMax }) =>
    createCacheValueCalls(apart(scope), cache, { entryBytesMax: cacheEntryBytesMax }),
  db(scope, { database, events }, _tools, queues) {
    const messages = events?.outbox ? { outbox: events.outbox, queues: apart(queues), limits: events.limits } : null;
    return database ? createDatabaseCalls(renamed(scope), database, messages) : null;
  },
  fs: (scope, { files }, { signUrl }) => files && createFileCalls(renamed(scope), files, signUrl),
  queue: (scope, { events }, _tools, _queues, { queues }) =>
    events ? createQueueCalls(apart(scope), events.queue, events.limits, queues) : null,
  sandbox: (scope, _stores, { sandboxes }) => (sandboxes ? createSandboxCalls(renamed(scope), sandboxes) : null),
  state: (scope, { state }, { work }) => state && createStateCalls(renamed(scope), state, Date.now, work ?? null),
  timer: (scope, { events }) => (events ? createTimerCalls(apart(scope), events.timer, events.limits) : null),
  workflow: (scope, { events }) => (events ? createWorkflowCalls(apart(scope), events.workflow, events.limits) : null),
};

/**
 * A preview's data is its branch's own and counts for the project: it has resource names of its own in the project's
 * namespace.
 */
function renamed(scope: BindingScope): BindingScope {
  const { preview } = scope;
  return preview === null ? scope : { ...scope, resource: (binding) => ofPreview(scope.resource(binding), preview) };
}

/**
 * Queues, timers and workflows of a preview belong to its branch, under their usual names: it has a namespace of its
 * own.
 */
function apart(scope: BindingScope): BindingScope {
  return { ...scope, namespace: ofPreview(scope.namespace, scope.preview) };
}

/** @param manifest of the deployment. */
export function createBindingCalls(
  owner: BindingOwner,
  manifest: Declared,
  stores: BindingStores,
  tools: BindingTools,
): Calls {
  const { bindings: declared } = manifest;
  let calls: Calls = {};
  const queues = createScope(owner, 'queue', declared['queue'] ?? {});
  for (const [kind, names] of Object.entries(declared)) {
    const create = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (create === undefined) continue;
    calls = {
      ...calls,
      ...(create(createScope(owner, kind, names), stores, tools, queues, manifest) ?? unavailable(kind)),
    };
  }
  return calls;
}

function unavailable(kind: string): Calls {
  const refuse: HostFunction = () => {
    throw new PlatformError('binding_unavailable', {
      kind,
      reason: 'this handler was started without a store for them',
    });
  };
  const prefix = `${bindingNames[kind as keyof typeof bindingNames]}.`;
  const names = Object.keys(hostCalls).filter((name) => name.startsWith(prefix));
  return Object.fromEntries(names.map((name) => [name, refuse]));
}

/** The kind in platform.yaml of a call, such as `fs` for `files.list`. */
export function kindOfCall(call: string): string {
  const name = call.slice(0, call.indexOf('.'));
  return Object.entries(bindingNames).find(([, own]) => own === name)?.[0] ?? name;
}

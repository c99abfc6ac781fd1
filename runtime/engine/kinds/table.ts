// The part of each kind of binding that runs in the engine: its host calls, the removal of a branch's data, and the
// management operations on its content. calls.ts, branch-removal.ts and operations.ts iterate over it.
import type { Kind, OperationsByKind } from '#core/bindings/kinds.ts';
import type { Manifest } from '#core/manifest.ts';
import { createAuthCalls } from '../bindings/auth.ts';
import type { BindingStores, BindingTools, BranchStores } from '../bindings/bindings.ts';
import { createCacheValueCalls } from '../bindings/cache-values.ts';
import { createDatabaseCalls, isRefusal } from '../bindings/database.ts';
import { createFileCalls } from '../bindings/files.ts';
import { createQueueCalls } from '../bindings/queue.ts';
import { createSandboxCalls } from '../bindings/sandbox.ts';
import type { BindingScope, DatabasePlace } from '../bindings/scope.ts';
import { createPoolCalls } from '../bindings/hyperdrive.ts';
import { createServiceCalls } from '../bindings/service.ts';
import { clearState, createStateCalls } from '../bindings/state.ts';
import { createTimerCalls } from '../bindings/timer.ts';
import { createWorkflowCalls } from '../bindings/workflow.ts';
import type { HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { RequestScope } from '../resources/request-scope.ts';
import { copyOperations } from '../resources/database-copies.ts';
import { importOperations } from '../resources/database-imports.ts';
import { migrationOperations } from '../resources/database-migrations.ts';
import { statementOperations } from '../resources/database-statements.ts';
import { tableOperations } from '../resources/database-tables.ts';
import { sandboxOperations } from '../resources/sandboxes.ts';
import { cacheOperations, fileOperations, stateOperations } from '../resources/storage.ts';
import { userOperations } from '../resources/users.ts';
import { queueOperations, timerOperations, workflowOperations } from '../resources/waiting.ts';
import { removeDatabase } from './database-removal.ts';

/** Host calls by name. */
export type Calls = Readonly<Record<string, HostFunction>>;

/** Binding declarations of a deployment. */
export type Declared = Pick<Manifest, 'bindings' | 'queues' | 'workflowClasses'>;

/** Dependencies of the calls of a kind. */
interface CallDeps {
  /** Finds a resource of the kind; for a preview, the preview's own resource. */
  readonly scope: BindingScope;
  readonly stores: BindingStores;
  readonly tools: BindingTools;
  readonly manifest: Declared;
  readonly scopeOf: (kind: Kind) => BindingScope;
}

/** The part of a kind that runs in the engine. */
interface EngineKind<Name extends Kind> {
  /** Host calls of the kind; null when its store is missing. */
  readonly calls: (deps: CallDeps) => Calls | null;
  /** Whether a reply says that the call failed; if absent, failed calls reject. */
  readonly isFailure?: (reply: HostReply) => boolean;
  /** Deletes a resource of a branch. If absent, the resource expires, or is deleted with the branch's namespace. */
  readonly removal?: {
    /** Name of the count in the response. */
    readonly counter: string;
    /** @returns how many entries were deleted. */
    readonly clear: (stores: BranchStores, place: DatabasePlace) => Promise<number>;
  };
  /** Management operations of the kind, by name. */
  readonly operations: {
    readonly [Operation in keyof OperationsByKind[Name]]: (
      asked: RequestScope,
    ) => Promise<OperationsByKind[Name][Operation] extends { readonly gives: infer Gives } ? Gives : never>;
  };
}

/** The entries of all kinds. */
export const engineKinds: { readonly [Name in Kind]: EngineKind<Name> } = {
  db: {
    calls({ scope, stores: { database, events }, scopeOf }) {
      const messages = events?.outbox
        ? { outbox: events.outbox, queues: scopeOf('queue'), limits: events.limits }
        : null;
      return database ? createDatabaseCalls(scope, database, messages) : null;
    },
    isFailure: isRefusal,
    removal: { counter: 'databases', clear: removeDatabase },
    operations: {
      ...tableOperations,
      ...statementOperations,
      ...migrationOperations,
      ...copyOperations,
      ...importOperations,
    },
  },
  state: {
    calls: ({ scope, stores: { state }, tools: { work } }) =>
      state && createStateCalls(scope, state, Date.now, work ?? null),
    removal: {
      counter: 'stateKeys',
      clear: async ({ state }, place) => (state === null ? 0 : clearState(state, place)),
    },
    operations: stateOperations,
  },
  fs: {
    calls: ({ scope, stores: { files }, tools: { signUrl } }) => files && createFileCalls(scope, files, signUrl),
    removal: { counter: 'files', clear: async ({ files }, place) => (await files?.clear(place)) ?? 0 },
    operations: fileOperations,
  },
  queue: {
    calls: ({ scope, stores: { events }, manifest }) =>
      events ? createQueueCalls(scope, events.queue, events.limits, manifest.queues) : null,
    operations: queueOperations,
  },
  timer: {
    calls: ({ scope, stores: { events } }) => (events ? createTimerCalls(scope, events.timer, events.limits) : null),
    operations: timerOperations,
  },
  workflow: {
    calls: ({ scope, stores: { events }, manifest }) =>
      events ? createWorkflowCalls(scope, events.workflow, events.limits, Date.now, manifest.workflowClasses) : null,
    operations: workflowOperations,
  },
  cache: {
    calls: ({ scope, tools: { cache, cacheEntryBytesMax } }) =>
      createCacheValueCalls(scope, cache, { entryBytesMax: cacheEntryBytesMax }),
    operations: cacheOperations,
  },
  sandbox: {
    calls: ({ scope, tools: { sandboxes } }) => (sandboxes ? createSandboxCalls(scope, sandboxes) : null),
    removal: { counter: 'sandboxes', clear: async ({ sandboxes }, place) => (await sandboxes?.clear(place)) ?? 0 },
    operations: sandboxOperations,
  },
  service: {
    calls: ({ scope, tools: { workers } }) =>
      workers === undefined ? null : createServiceCalls((binding) => scope.resource(binding), workers),
    operations: {},
  },
  hyperdrive: {
    calls: ({ scope, tools: { pools } }) => (pools ? createPoolCalls(scope, pools) : null),
    operations: {},
  },
  auth: {
    calls: ({ scope, stores: { auth } }) => (auth ? createAuthCalls(scope.namespace, auth) : null),
    operations: userOperations,
  },
};

// Management operations on a deployment's bindings: types of both halves, the API's (resources/) and the engine's
// (runtime/engine/resources/). The control plane calls `POST /_platform/data` of the private port, `platform dev` its
// own process.
import type { Nothing } from './resource-call/arguments.ts';
import type { DatabaseOperations } from './resource-call/databases.ts';
import type { QueueOperations } from './resource-call/queues.ts';
import type { SandboxOperations } from './resource-call/sandboxes.ts';
import type { CacheOperations, FileOperations, StateOperations } from './resource-call/storage.ts';
import type { ScheduleOperations, TimerOperations } from './resource-call/timers.ts';
import type { UserOperations } from './resource-call/users.ts';
import type { WorkflowOperations } from './resource-call/workflows.ts';

/** A kind of binding with management operations. */
export type ResourceKind = 'db' | 'state' | 'fs' | 'queue' | 'workflow' | 'timer' | 'cache' | 'sandbox' | 'auth';

/**
 * Each operation: its arguments besides `binding`, and its result. `binding` is a binding's name in platform.yaml, or
 * the name of its resource.
 */
export interface ResourceOperations
  extends
    DatabaseOperations,
    StateOperations,
    FileOperations,
    QueueOperations,
    WorkflowOperations,
    TimerOperations,
    ScheduleOperations,
    UserOperations,
    CacheOperations,
    SandboxOperations {
  /** Which bindings the deployment declares; takes no `binding`. */
  readonly 'resources.list': {
    readonly takes: Nothing;
    readonly gives: {
      readonly resources: readonly {
        readonly kind: ResourceKind;
        readonly binding: string;
        readonly resource: string;
      }[];
    };
  };
}

/** The name of an operation. */
export type ResourceOperation = keyof ResourceOperations;

/** Read-only operations: all others change the content of a binding. */
export const readingOperations: readonly ResourceOperation[] = [
  'resources.list',
  'db.tables',
  'db.rows',
  'db.cell',
  'db.explain',
  'db.slow',
  'db.migrations',
  'db.copy',
  'db.copies',
  'state.list',
  'state.get',
  'fs.list',
  'fs.get',
  'queue.stats',
  'queue.list',
  'workflow.list',
  'workflow.get',
  'timer.list',
  'cron.list',
  'users.list',
  'users.sessions',
  'users.settings',
  'cache.list',
  'cache.get',
  'sandbox.place',
];

/** The body of `POST /_platform/data`. */
export interface ResourceCall<Operation extends ResourceOperation = ResourceOperation> {
  readonly project: string;
  /** The deployment whose platform.yaml declares the binding, and whose branch determines its resources. */
  readonly deployment: string;
  readonly operation: Operation;
  readonly binding?: string;
  readonly args: ResourceOperations[Operation]['takes'];
}

/**
 * The response: `{result}` with status 200. Otherwise `{error, code}`, like all errors of the private port:
 * `binding_not_found`, and `invalid_argument` for a refused statement or key.
 */
export interface ResourceAnswer<Operation extends ResourceOperation> {
  readonly result: ResourceOperations[Operation]['gives'];
}

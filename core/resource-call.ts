// Types of the management operations on a deployment's bindings, for the API (resources/) and the engine
// (runtime/engine/resources/). The control plane calls `POST /_platform/data` of the private port; `platform dev` calls
// its own process.
import { bindings, type Kind, type OperationsByKind } from './bindings/kinds.ts';
import { object } from './bindings/object.ts';
import type { Nothing } from './resource-call/arguments.ts';
import type { ObjectOperations } from './resource-call/objects.ts';
import type { ScheduleOperations } from './resource-call/timers.ts';

/** A kind of binding whose content has operations. */
export type ResourceKind = Kind | 'object';

/** Lists the bindings that the deployment declares; takes no `binding`. */
interface ListOperations {
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

type Together<Union> = (Union extends unknown ? (one: Union) => void : never) extends (one: infer All) => void
  ? All
  : never;

/**
 * Each operation: its arguments besides `binding`, and its result. `binding` is a binding's name in platform.yaml, or
 * the name of its resource.
 */
export type ResourceOperations = Together<OperationsByKind[Kind]> &
  ObjectOperations &
  ScheduleOperations &
  ListOperations;

/** The name of an operation. */
export type ResourceOperation = keyof ResourceOperations;

/** Read-only operations; all others change the content of a binding. */
export const readingOperations: readonly ResourceOperation[] = [
  'resources.list',
  'cron.list',
  ...object.reads,
  ...Object.values(bindings).flatMap(({ reads }): readonly ResourceOperation[] => reads),
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
 * The response: `{result}` with status 200. Failures have the body `{error, code}`, like all errors of the private
 * port: `binding_not_found`, and `invalid_argument` for a refused statement or key.
 */
export interface ResourceAnswer<Operation extends ResourceOperation> {
  readonly result: ResourceOperations[Operation]['gives'];
}

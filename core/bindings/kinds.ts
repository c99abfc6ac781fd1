// The list of the kinds of bindings. The other folders iterate over this list instead of naming kinds: test/tidy/
// counts the tables that still name them.
import type { DatabaseOperations } from '../resource-call/databases.ts';
import type { QueueOperations } from '../resource-call/queues.ts';
import type { SandboxOperations } from '../resource-call/sandboxes.ts';
import type { CacheOperations, FileOperations, StateOperations } from '../resource-call/storage.ts';
import type { TimerOperations } from '../resource-call/timers.ts';
import type { UserOperations } from '../resource-call/users.ts';
import type { WorkflowOperations } from '../resource-call/workflows.ts';
import type { BindingDescriptor } from './descriptor.ts';
import { auth } from './auth.ts';
import { cache } from './cache.ts';
import { db } from './db.ts';
import { fs } from './fs.ts';
import { hyperdrive } from './hyperdrive.ts';
import { queue } from './queue.ts';
import { sandbox } from './sandbox.ts';
import { service } from './service.ts';
import { state } from './state.ts';
import { timer } from './timer.ts';
import { workflow } from './workflow.ts';

/** Kinds that map binding names to resource names, by their key in platform.yaml. */
const namedBindings = { db, queue, workflow, state, fs, timer, cache, sandbox, service, hyperdrive } as const;

/** All kinds that a manifest may declare. */
export const bindings = { ...namedBindings, auth } as const satisfies Readonly<Record<string, BindingDescriptor>>;

/** A kind that maps binding names to resource names. */
export type NamedKind = keyof typeof namedBindings;
/** A kind that a manifest may declare. */
export type Kind = keyof typeof bindings;

/** The management operations of each kind: the arguments and results. */
export interface OperationsByKind {
  readonly db: DatabaseOperations;
  readonly queue: QueueOperations;
  readonly workflow: WorkflowOperations;
  readonly state: StateOperations;
  readonly fs: FileOperations;
  readonly timer: TimerOperations;
  readonly cache: CacheOperations;
  readonly sandbox: SandboxOperations;
  readonly service: Readonly<Record<never, never>>;
  readonly hyperdrive: Readonly<Record<never, never>>;
  readonly auth: UserOperations;
}

export const namedKinds = Object.keys(namedBindings) as readonly NamedKind[];
export const kinds = Object.keys(bindings) as readonly Kind[];

/** Kinds of stored rows, by their name in the API. */
type CountedKind = Counted<(typeof bindings)[Kind]['storage']>;
type Counted<Storage> = Storage extends { readonly kind: infer Name } ? Name : never;

export const countedKinds = Object.values(bindings).flatMap(({ storage }): CountedKind[] =>
  storage === null ? [] : [storage.kind],
);

/** A kind whose calls are counted for each resource. */
export type MeasuredKind = {
  [Name in Kind]: (typeof bindings)[Name]['isMeasured'] extends true ? Name : never;
}[Kind];

export const measuredKinds = kinds.filter((kind): kind is MeasuredKind => bindings[kind].isMeasured);

/** The descriptor of a kind from external data; undefined if this version does not know it. */
export function descriptorOf(kind: string): BindingDescriptor | undefined {
  return Object.hasOwn(bindings, kind) ? bindings[kind as Kind] : undefined;
}

/** The schemas of a group of kinds, by key. */
export function schemasOf<Group extends Readonly<Record<string, BindingDescriptor>>>(
  group: Group,
): { readonly [Key in keyof Group]: Group[Key]['schema'] } {
  return Object.fromEntries(Object.entries(group).map(([kind, { schema }]) => [kind, schema])) as {
    readonly [Key in keyof Group]: Group[Key]['schema'];
  };
}

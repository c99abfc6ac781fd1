// The parameters of an operation on a binding, and its resource. Only names that a worker of the deployment could use
// are accepted. Used by the operations in this folder.
import { bindings, kinds, type Kind } from '#core/bindings/kinds.ts';
import { PlatformError } from '#core/errors.ts';
import { ofPreview } from '#core/preview.ts';
import type { ResourceOperation, ResourceOperations } from '#core/resource-call.ts';
import type { CacheEntry } from '#core/resource-call/storage.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { BindingStores } from '../bindings/bindings.ts';
import type { CacheStore } from '../bindings/cache.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import { freeOwner } from '../bridge/free-owner.ts';
import type { CallScope, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { Part } from '../bridge/protocol.ts';
import type { Route } from '../router/project-routes.ts';
import type { ObjectOperator } from '../serving/object-operator.ts';
import type { DatabaseClient } from '../../stores/database-service.ts';
import type { EventStores } from '../../stores/event-stores.ts';

/** A cache in one process, whose entries can be listed. */
interface ListedCache extends CacheStore {
  /** The keys with a prefix; the most recently used key comes last. */
  list(project: string, prefix: string, limit: number): CacheEntry[];
}

/** The stores and settings for the operations. */
export interface ResourceDeps {
  /** Databases of projects; null without a database service. */
  readonly databases: Omit<DatabaseClient, 'close'> | null;
  readonly stores: BindingStores;
  /** Durable objects, in whichever engine they are. */
  readonly objects: ObjectOperator;
  /** Null without schedules. */
  readonly cron: Pick<EventStores['cron'], 'list' | 'trigger'> | null;
  readonly cache: CacheStore | ListedCache;
  readonly cacheEntryBytesMax: number;
  /** The data folder. Copies of databases are only written to it, and imported files are only read from it. */
  readonly folder: string;
  /** Maximum number of database copies per project. */
  readonly copiesMax: number;
  /** Owner of a project's resources: the project, or the workspace in `platform dev`. */
  readonly namespaceOf: (project: string) => string;
}

/** A request for an operation on a binding. */
export interface RequestScope {
  readonly deps: ResourceDeps;
  readonly route: Route;
  readonly artifact: OpenArtifact;
  readonly binding: unknown;
  readonly args: Readonly<Record<string, unknown>>;
  /** The host calls of the deployment's bindings. */
  readonly hostCalls: () => Readonly<Record<string, HostFunction>>;
}

export type Gives<Name extends ResourceOperation> = ResourceOperations[Name]['gives'];

/** Operations with a common name prefix. */
export type OperationsOf<Prefix extends string> = {
  readonly [Name in ResourceOperation as Name extends `${Prefix}.${string}` ? Name : never]: (
    scope: RequestScope,
  ) => Promise<Gives<Name>>;
};

/** The binding's name in platform.yaml and its resource, from either of the two. */
export function bindingOf({ artifact, binding }: RequestScope, kind: Kind): { name: string; resource: string } {
  const declared = Object.entries(artifact.manifest.bindings[kind] ?? {});
  const found =
    declared.find(([name]) => name === binding) ?? declared.find(([, resource]) => resource === binding) ?? null;
  if (found === null) throw new PlatformError('binding_not_found', { kind, binding: String(binding).slice(0, 100) });
  return { name: found[0], resource: found[1] };
}

/** A configured store. @throws {PlatformError} `binding_unavailable`. */
export function opened<Store>(store: Store | null | undefined, kind: Kind): Store {
  if (store == null)
    throw new PlatformError('binding_unavailable', {
      kind,
      reason: 'this handler has no store for them',
    });
  return store;
}

/** The resource of the deployment, or of its branch if it is a preview. */
export function placeOf(scope: RequestScope, kind: Kind): DatabasePlace {
  const { resource } = bindingOf(scope, kind);
  return bindings[kind].ofPreview === 'namespace'
    ? { namespace: apartNamespace(scope), resource }
    : { namespace: namespaceOf(scope), resource: ofPreview(resource, scope.route.preview) };
}

/** Namespace of queues, timers, workflows and users. */
export function apartNamespace(scope: RequestScope): string {
  return ofPreview(namespaceOf(scope), scope.route.preview);
}

export function namespaceOf({ deps, route }: Pick<RequestScope, 'deps' | 'route'>): string {
  return deps.namespaceOf(route.project);
}

/**
 * Calls a host function of a binding, such as `queue.send` or `timer.set`, with the same checks as for workers. The
 * cost of the call is not charged.
 */
export async function call(
  scope: RequestScope,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  given: readonly Part[] = [],
): Promise<HostReply> {
  const [module] = name.split('.', 1);
  const kind = kinds.find((one) => bindings[one].module === module)!;
  const host = scope.hostCalls()[name];
  if (host === undefined) throw new PlatformError('binding_not_found', { kind, binding: '' });
  const { signal } = new AbortController();
  const binding = kind === 'auth' ? {} : { binding: bindingOf(scope, kind).name };
  return host({
    args: { ...args, ...binding },
    parts: given,
    owner: freeOwner,
    signal,
    isDropped: false,
    drop() {},
    isolate: noIsolate,
  });
}

// Host functions with streams need an isolate, so they are not called here.
const noIsolate = { memory: {} } as CallScope;

/** Parses a value that is stored as JSON. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

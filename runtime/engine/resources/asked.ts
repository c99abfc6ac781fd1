// What every question about a binding comes with, and which resource it is about: the names that a worker of the
// deployment would reach are the only ones there are. For the operations in this folder.
import { PlatformError } from '#core/errors.ts';
import { ofPreview } from '#core/preview.ts';
import type { ResourceKind, ResourceOperation, ResourceOperations } from '#core/resource-call.ts';
import type { CacheEntry } from '#core/resource-call/storage.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { createBindingCalls, kindOfCall, type BindingStores } from '../bindings/bindings.ts';
import type { CacheStore } from '../bindings/cache.ts';
import type { DatabasePlace } from '../bindings/scope.ts';
import { freeOwner } from '../bridge/free-owner.ts';
import type { CallScope, HostFunction, HostReply } from '../bridge/host-calls.ts';
import type { Part } from '../bridge/protocol.ts';
import type { Route } from '../router/project-routes.ts';
import type { DatabaseClient } from '../../stores/database-service.ts';
import type { EventStores } from '../../stores/event-stores.ts';

/** A cache whose entries can be listed, those of one process. */
export interface ListedCache extends CacheStore {
  /** Keys that begin with a prefix, the one used last at the end. */
  list(project: string, prefix: string, limit: number): CacheEntry[];
}

/** Where it looks. */
export interface ResourceParts {
  /** Null without a database service. */
  readonly databases: Omit<DatabaseClient, 'close'> | null;
  readonly stores: BindingStores;
  /** Null where schedules are nobody's. */
  readonly cron: Pick<EventStores['cron'], 'list' | 'trigger'> | null;
  readonly cache: CacheStore | ListedCache;
  readonly cacheEntryBytesMax: number;
  /** Data folder: copies of databases are written nowhere else, and files that come are read from nowhere else. */
  readonly folder: string;
  /** Copies of a project's databases that are kept. */
  readonly copiesMax: number;
  /** Whose resources those of a project are: the project, or in dev the workspace. */
  readonly namespaceOf: (project: string) => string;
}

/** One question about a binding. */
export interface Asked {
  readonly parts: ResourceParts;
  readonly route: Route;
  readonly artifact: OpenArtifact;
  readonly binding: unknown;
  readonly args: Readonly<Record<string, unknown>>;
}

export type Gives<Name extends ResourceOperation> = ResourceOperations[Name]['gives'];

/** Operations whose names begin alike. */
export type OperationsOf<Prefix extends string> = {
  readonly [Name in ResourceOperation as Name extends `${Prefix}.${string}` ? Name : never]: (
    asked: Asked,
  ) => Promise<Gives<Name>>;
};

/** The binding's name in platform.yaml and the resource it leads to, whichever of the two was said. */
export function bindingOf({ artifact, binding }: Asked, kind: ResourceKind): { name: string; resource: string } {
  const declared = Object.entries(artifact.manifest.bindings[kind] ?? {});
  const found =
    declared.find(([name]) => name === binding) ?? declared.find(([, resource]) => resource === binding) ?? null;
  if (found === null) throw new PlatformError('binding_not_found', { kind, binding: String(binding).slice(0, 100) });
  return { name: found[0], resource: found[1] };
}

/** A store that the handler was started with. @throws {PlatformError} `binding_unavailable`. */
export function opened<Store>(store: Store | null | undefined, kind: ResourceKind): Store {
  if (store == null)
    throw new PlatformError('binding_unavailable', {
      kind,
      reason: 'this handler was started without a store for them',
    });
  return store;
}

/** A resource that a preview has under another name, as bindings.ts says it. */
export function renamedPlace(asked: Asked, kind: ResourceKind): DatabasePlace {
  const { resource } = bindingOf(asked, kind);
  return { namespace: namespaceOf(asked), resource: ofPreview(resource, asked.route.preview) };
}

/** A resource that a preview has in a namespace of its branch, as bindings.ts says it. */
export function apartPlace(asked: Asked, kind: ResourceKind): DatabasePlace {
  return { namespace: apartNamespace(asked), resource: bindingOf(asked, kind).resource };
}

/** Of what waits for a moment, and of users. */
export function apartNamespace(asked: Asked): string {
  return ofPreview(namespaceOf(asked), asked.route.preview);
}

export function namespaceOf({ parts, route }: Asked): string {
  return parts.namespaceOf(route.project);
}

/**
 * Does what a worker's binding does, with the same checks: `queue.send`, `timer.set` and so on. What it costs is
 * nobody's.
 */
export async function call(
  asked: Asked,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  given: readonly Part[] = [],
): Promise<HostReply> {
  const { artifact, parts, route } = asked;
  const kind = kindOfCall(name) as ResourceKind;
  const { branch, deployment, preview, project } = route;
  const calls = createBindingCalls(
    { namespace: namespaceOf(asked), project, branch, deployment, preview },
    artifact.manifest,
    parts.stores,
    { signUrl: null, cache: parts.cache, cacheEntryBytesMax: parts.cacheEntryBytesMax },
  );
  const host = calls[name] as HostFunction | undefined;
  if (host === undefined) throw new PlatformError('binding_not_found', { kind, binding: '' });
  const { signal } = new AbortController();
  const binding = kind === 'auth' ? {} : { binding: bindingOf(asked, kind).name };
  return host({
    args: { ...args, ...binding },
    parts: given,
    owner: freeOwner,
    signal,
    isDropped: false,
    isolate: noIsolate,
  });
}

// Handlers that stream know an isolate; nothing here calls one of them.
const noIsolate = { memory: {} } as CallScope;

/** A value that was stored as JSON. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

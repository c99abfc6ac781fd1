// What a route of the dashboard is: a method, a path with `:names`, and a function from what was asked to JSON. The
// tables of routes are in the other files of this folder; server.ts serves them.
import { kindOfCall } from '../../engine/bindings/bindings.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PlatformError } from '#core/errors.ts';
import type { Limits } from '#core/limits.ts';
import type { Manifest } from '#core/manifest.ts';
import { invalid, toRecord } from '../../engine/bindings/arguments.ts';
import type { BindingStores } from '../../engine/bindings/bindings.ts';
import type { CacheStore } from '../../engine/bindings/cache.ts';
import type { QueuePlace } from '../../engine/bindings/queue.ts';
import type { HostReply } from '../../engine/bridge/host-calls.ts';
import type { Part } from '../../engine/bridge/protocol.ts';
import type { EventStores } from '../../stores/event-stores.ts';
import type { Activity } from './activity.ts';

/** What is served at this moment. */
export interface ShownDeployment {
  readonly id: string;
  readonly manifest: Manifest;
  /** Names of the project's variables: their values may be secrets. */
  readonly variables: readonly string[];
  /** Addresses must be confirmed before their users may sign in. */
  readonly requiresVerification: boolean;
  /** platform.yaml with its defaults; null where dev was started without it. */
  readonly config: unknown;
  /** Does what a worker's binding does, with the same checks: `queue.send`, `timer.set`... */
  readonly call: (name: string, args: Readonly<Record<string, unknown>>, parts?: readonly Part[]) => Promise<HostReply>;
}

/** What the dashboard is made of. */
export interface DashboardParts {
  readonly project: string;
  readonly namespace: string;
  readonly branch: string;
  readonly limits: Limits;
  readonly stores: BindingStores;
  readonly events: Pick<EventStores, 'queue' | 'timer' | 'cron' | 'workflow'>;
  readonly cache: ListedCache;
  readonly activity: Activity;
  /** Null before the first deployment. */
  readonly current: () => ShownDeployment | null;
  /** Where the project answers. */
  readonly url: () => string;
  /** Calls a method of a binding inside an isolate; takes and gives JSON (rpc-worker.ts). */
  readonly rpc: (request: string) => Promise<{ readonly status: number; readonly body: string }>;
  readonly log: (level: 'warn' | 'error', message: string) => void;
}

/** A cache whose entries can be listed. */
export interface ListedCache extends CacheStore {
  /** Keys that begin with a prefix, the one used last at the end. */
  list(project: string, prefix: string, limit: number): { key: string; bytes: number; expiresAt: number }[];
}

/** What was asked. */
export interface Asked {
  readonly parts: DashboardParts;
  /** Values of the `:names`, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /**
   * The body, an object in JSON; empty where there is none. @throws {PlatformError} `bad_request`, `body_too_large`.
   */
  readonly body: () => Promise<Readonly<Record<string, unknown>>>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A route. What it returns goes out as JSON, undefined as 204; `answered`: it has written the response itself. */
export type Route = readonly [
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  answer: (asked: Asked) => unknown,
];

export const answered = Symbol('answered');

/** What is served. @throws {PlatformError} `dashboard_not_ready`. */
export function deploymentOf({ parts }: Asked): ShownDeployment {
  const current = parts.current();
  if (current === null)
    throw new PlatformError('dashboard_not_ready', { reason: 'the project has not been built yet' });
  return current;
}

/** The resource that `:b` stands for. @throws {PlatformError} `dashboard_not_found`. */
export function placeOf(asked: Asked, kind: string): QueuePlace {
  const binding = asked.params['b'] as string;
  const names = deploymentOf(asked).manifest.bindings[kind] ?? {};
  if (!Object.hasOwn(names, binding))
    throw notFound(`platform.yaml declares no ${kind} binding ${binding.slice(0, 100)}`);
  return { namespace: asked.parts.namespace, resource: names[binding] as string };
}

/** Calls a host half for the binding `:b`, and gives its value. */
export async function callBinding(
  asked: Asked,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  parts: readonly string[] = [],
): Promise<unknown> {
  placeOf(asked, kindOfCall(name));
  return (await deploymentOf(asked).call(name, { ...args, binding: asked.params['b'] }, parts)).value;
}

export function notFound(reason: string): PlatformError {
  return new PlatformError('dashboard_not_found', { reason });
}

/** A store that dev was started with. @throws {PlatformError} `binding_unavailable`. */
export function opened<Store>(store: Store | null | undefined, kind: string): Store {
  if (store === null || store === undefined)
    throw new PlatformError('binding_unavailable', { kind, reason: 'dev has no store for them' });
  return store;
}

/** A whole number of the query. */
export function countOf(
  query: URLSearchParams,
  name: string,
  bounds: { least: number; most: number; otherwise: number },
): number {
  const text = query.get(name);
  if (text === null || text === '') return bounds.otherwise;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= bounds.least && number <= bounds.most))
    throw invalid(`${name} must be a whole number from ${bounds.least} to ${bounds.most}`);
  return number;
}

/** Reads a body as an object in JSON. */
export function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes.byteLength === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    throw new PlatformError('bad_request', { reason: 'the body is no JSON' });
  }
  return toRecord(value);
}

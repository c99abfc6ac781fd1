// A route that only dev has: a method, a path with `:names`, and a function that converts the request to JSON. The
// tables of routes are project.ts and rpc.ts; server.ts serves them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PlatformError } from '#core/errors.ts';
import type { Limits } from '#core/limits.ts';
import type { Manifest } from '#core/manifest.ts';
import type { SandboxInfo } from '#core/sandbox/operations.ts';
import { toRecord } from '../../engine/bindings/arguments.ts';
import type { Activity } from './activity.ts';
import type { RpcCall } from './rpc-exchange.ts';

/** The currently served deployment. */
export interface ShownDeployment {
  readonly id: string;
  readonly manifest: Manifest;
  /** Names of the project's variables, without their values, which may be secrets. */
  readonly variables: readonly string[];
  /** platform.yaml with its defaults; null if dev was started without it. */
  readonly config: unknown;
}

/** Dependencies of the dashboard. */
export interface DashboardDeps {
  readonly project: string;
  readonly limits: Limits;
  readonly activity: Activity;
  /** The served deployment; null before the first one. */
  readonly current: () => ShownDeployment | null;
  /** URL of the project. */
  readonly url: () => string;
  /** Runs a call of the mock server inside an isolate, and sends the response. */
  readonly rpc: (call: RpcCall, response: ServerResponse) => void;
  /** The sandboxes of a resource. */
  readonly sandboxesOf: (resource: string) => Promise<readonly SandboxInfo[]>;
  /** Whether an `authorization` header has the mock server's token. */
  readonly isAuthorized: (authorization: string | undefined) => boolean;
  readonly log: (level: 'warn' | 'error', message: string) => void;
}

/** A request. */
export interface DashboardRequest {
  readonly deps: DashboardDeps;
  /** The decoded values of the `:names`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The body as a JSON object; empty without a body. @throws {PlatformError} `bad_request`, `body_too_large`. */
  readonly body: () => Promise<Readonly<Record<string, unknown>>>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * A route. The result is sent as JSON; undefined is sent as status 204. `answered` means that the function has sent the
 * response itself.
 */
export type Route = readonly [
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  answer: (asked: DashboardRequest) => unknown,
];

export const answered = Symbol('answered');

/** The served deployment. @throws {PlatformError} `dashboard_not_ready`. */
export function deploymentOf({ deps }: DashboardRequest): ShownDeployment {
  const current = deps.current();
  if (current === null)
    throw new PlatformError('dashboard_not_ready', { reason: 'the project has not been built yet' });
  return current;
}

export function notFound(reason: string): PlatformError {
  return new PlatformError('dashboard_not_found', { reason });
}

/** Parses a body as a JSON object. */
export function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  if (bytes.byteLength === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    throw new PlatformError('bad_request', { reason: 'The body is not JSON' });
  }
  return toRecord(value);
}

// What a route that dev alone has is: a method, a path with `:names`, and a function from what was asked to JSON. The
// tables of routes are project.ts and rpc.ts; server.ts serves them.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PlatformError } from '#core/errors.ts';
import type { Limits } from '#core/limits.ts';
import type { Manifest } from '#core/manifest.ts';
import type { SandboxInfo } from '#core/sandbox/operations.ts';
import { toRecord } from '../../engine/bindings/arguments.ts';
import type { Activity } from './activity.ts';
import type { RpcCall } from './rpc-exchange.ts';

/** What is served at this moment. */
export interface ShownDeployment {
  readonly id: string;
  readonly manifest: Manifest;
  /** Names of the project's variables: their values may be secrets. */
  readonly variables: readonly string[];
  /** platform.yaml with its defaults; null where dev was started without it. */
  readonly config: unknown;
}

/** What the dashboard is made of. */
export interface DashboardParts {
  readonly project: string;
  readonly limits: Limits;
  readonly activity: Activity;
  /** Null before the first deployment. */
  readonly current: () => ShownDeployment | null;
  /** Where the project answers. */
  readonly url: () => string;
  /** Does a call of the mock server inside an isolate, and answers it. */
  readonly rpc: (call: RpcCall, response: ServerResponse) => void;
  /** The sandboxes of a resource. */
  readonly sandboxesOf: (resource: string) => Promise<readonly SandboxInfo[]>;
  /** Whether an `authorization` has the mock server's token. */
  readonly isAuthorized: (authorization: string | undefined) => boolean;
  readonly log: (level: 'warn' | 'error', message: string) => void;
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
export type Route = readonly [method: 'GET' | 'POST' | 'DELETE', path: string, answer: (asked: Asked) => unknown];

export const answered = Symbol('answered');

/** What is served. @throws {PlatformError} `dashboard_not_ready`. */
export function deploymentOf({ parts }: Asked): ShownDeployment {
  const current = parts.current();
  if (current === null)
    throw new PlatformError('dashboard_not_ready', { reason: 'the project has not been built yet' });
  return current;
}

export function notFound(reason: string): PlatformError {
  return new PlatformError('dashboard_not_found', { reason });
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

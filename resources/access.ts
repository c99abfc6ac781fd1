// Types and route options shared by the routes of this folder. Each route declares whether it reads or writes. The
// process that mounts the routes decides about access and where responses come from.
import type { Readable } from 'node:stream';
import Type from '#core/typebox/typebox.mjs';
import { readingOperations, type ResourceOperation, type ResourceOperations } from '#core/resource-call.ts';
import type { SandboxRequest } from './sandbox-calls.ts';

/** What an operation is run on, and its arguments. */
export interface ResourceQuestion<Operation extends ResourceOperation> {
  /** Project id or name from the `:id` path parameter. */
  readonly project: string;
  /** Branch of a preview. Default: production. */
  readonly branch?: string | undefined;
  readonly binding?: string;
  readonly args: ResourceOperations[Operation]['takes'];
  /** Timeout of the operation. */
  readonly waitMs?: number;
}

/** Reasons to refuse a request for data. */
export type Refusal = 'not_found' | 'bad_request' | 'conflict' | 'payload_too_large';

/** A call to a sandbox, or a call that lists sandboxes. */
export interface SandboxCall {
  /** As in {@link ResourceQuestion}. */
  readonly project: string;
  readonly branch?: string | undefined;
  readonly binding: string;
  readonly request: SandboxRequest;
  /** Aborts the call. */
  readonly signal: AbortSignal;
}

/** Access to the contents of bindings. */
export interface ResourceAccess {
  /**
   * Runs an operation. Throws if the caller has no permission. Changes are written to the audit log, if there is one.
   */
  ask<Operation extends ResourceOperation>(
    operation: Operation,
    question: ResourceQuestion<Operation>,
  ): Promise<ResourceOperations[Operation]['gives']>;
  /** Calls a sandbox, with the same checks as {@link ask}. Streams the response body (sandbox-calls.ts). */
  sandbox(call: SandboxCall): Promise<Readable>;
  /** Code and message of an error as a response would show them, for use by sockets. */
  explain(error: unknown): Promise<{ readonly code: string; readonly message: string }>;
  /** Creates an error that is sent as a response. */
  refuse(why: Refusal, reason: string): Error;
  /** Limits of files imported into databases. */
  readonly importLimits: { readonly importBytesMax: number; readonly diskFreeBytesMin: number };
  /** An existing folder for files in transit. The routes read and write files in this folder. */
  readonly transit: string;
}

/** The `ctx.state` of the routes. */
export interface ResourceState {
  readonly resources: ResourceAccess;
}

type Permission = 'data:read' | 'data:write';

/** Route options that declare access, as `needs` of control/api/request/needs.ts does. */
interface Declared {
  readonly security: readonly [{ readonly token: readonly [Permission] }, { readonly session: readonly [Permission] }];
  readonly strict: true;
  readonly 'x-subject': 'project';
}

const declared = (permission: Permission): Declared => ({
  security: [{ token: [permission] }, { session: [permission] }],
  strict: true,
  'x-subject': 'project',
});

/** Used by routes without changes. */
export const reads = declared('data:read');
/** Used by routes that change the content of a binding. */
export const writes = declared('data:write');

/** The permission that an operation requires. */
export function permissionOf(operation: ResourceOperation): Permission {
  return readingOperations.includes(operation) ? 'data:read' : 'data:write';
}

/** Read-only sandbox operations. */
const readingCalls: readonly SandboxRequest['operation'][] = [
  'list',
  'listSnapshots',
  'listExposedPorts',
  'info',
  'listFiles',
  'readFile',
  'exists',
  'listProcesses',
  'getProcess',
  'getProcessLogs',
  'streamProcessLogs',
  'watch',
];

/** The permission that a sandbox call requires. */
export function permissionOfCall(operation: SandboxRequest['operation']): Permission {
  return readingCalls.includes(operation) ? 'data:read' : 'data:write';
}

/** Selects the resources of production or of a branch's previews. */
export const branchQuery = {
  branch: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Branch of the preview; default: production' }),
  ),
};
/** The query of routes that have no other parameter. */
export const branchOnly = Type.Object(branchQuery);

/** Name of a binding in platform.yaml, or of its resource. */
export const BindingName = Type.String({ maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$' });

/** Page size for messages, runs and timers. */
export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 }));
/** A numeric cursor. */
export const NumberCursor = Type.Optional(Type.String({ maxLength: 20, pattern: '^\\d+$' }));

export const NullableNumber = Type.Union([Type.Number(), Type.Null()]);
export const NullableText = Type.Union([Type.String(), Type.Null()]);
export const Done = { 204: null } as const;

/** An empty response. */
export function done(): Response {
  return new Response(null, { status: 204 });
}

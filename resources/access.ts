// What the routes of this folder are given, and what each declares: that it reads or that it writes. Who may, and where
// the answer comes from, is decided by whoever mounts them.
import type { Readable } from 'node:stream';
import Type from '#core/typebox/typebox.mjs';
import { readingOperations, type ResourceOperation, type ResourceOperations } from '#core/resource-call.ts';
import type { SandboxRequest } from './sandbox-calls.ts';

/** What is asked, beside the operation. */
export interface ResourceQuestion<Operation extends ResourceOperation> {
  /** `:id` of the path: a project. */
  readonly project: string;
  /** Of a preview; absent: production. */
  readonly branch?: string | undefined;
  readonly binding?: string;
  readonly args: ResourceOperations[Operation]['takes'];
  /** How long the answer may take. */
  readonly waitMs?: number;
}

/** Why a question has no answer. */
export type Refusal = 'not_found' | 'bad_request' | 'conflict' | 'payload_too_large';

/** A call for a sandbox, or for a list of them. */
export interface SandboxCall {
  /** As of a {@link ResourceQuestion}. */
  readonly project: string;
  readonly branch?: string | undefined;
  readonly binding: string;
  readonly request: SandboxRequest;
  /** Ends the call. */
  readonly signal: AbortSignal;
}

/** Answers questions about bindings. */
export interface ResourceAccess {
  /** Asks; refuses who may not. What changes something leaves its mark in the audit log, where there is one. */
  ask<Operation extends ResourceOperation>(
    operation: Operation,
    question: ResourceQuestion<Operation>,
  ): Promise<ResourceOperations[Operation]['gives']>;
  /** Calls a sandbox, as {@link ask} asks; gives the answer as it comes (sandbox-calls.ts). */
  sandbox(call: SandboxCall): Promise<Readable>;
  /** What an answer would say of an error, for whoever has none: a socket. */
  explain(error: unknown): Promise<{ readonly code: string; readonly message: string }>;
  /** An error that becomes an answer. */
  refuse(why: Refusal, reason: string): Error;
  /** Of files that are imported into databases. */
  readonly importLimits: { readonly importBytesMax: number; readonly diskFreeBytesMin: number };
  /** A folder that exists, for files on their way; whoever answers reads and writes there. */
  readonly transit: string;
}

/** What the routes find in `ctx.state`. */
export interface ResourceState {
  readonly resources: ResourceAccess;
}

type Permission = 'data:read' | 'data:write';

/** What a route declares of access, as `needs` of control/api/request/needs.ts does. */
interface Declared {
  readonly security: readonly [{ readonly token: readonly [Permission] }, { readonly session: readonly [Permission] }];
  readonly 'x-subject': 'project';
}

const declared = (permission: Permission): Declared => ({
  security: [{ token: [permission] }, { session: [permission] }],
  'x-subject': 'project',
});

/** Of a route that changes nothing. */
export const reads = declared('data:read');
/** Of a route that changes what a binding holds. */
export const writes = declared('data:write');

/** What an operation needs. */
export function permissionOf(operation: ResourceOperation): Permission {
  return readingOperations.includes(operation) ? 'data:read' : 'data:write';
}

/** What sandboxes are called for that changes nothing in them. */
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

/** What a call for a sandbox needs. */
export function permissionOfCall(operation: SandboxRequest['operation']): Permission {
  return readingCalls.includes(operation) ? 'data:read' : 'data:write';
}

/** Whose resources: production's, or those of a branch's previews. */
export const branchQuery = {
  branch: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Of the previews of a branch; default: production' }),
  ),
};

/** A binding's name in platform.yaml, or that of its resource. */
export const BindingName = Type.String({ maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$' });

/** How many of what waits: messages, runs, timers. */
export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 }));
/** A cursor that counts. */
export const NumberCursor = Type.Optional(Type.String({ maxLength: 20, pattern: '^\\d+$' }));

export const NullableNumber = Type.Union([Type.Number(), Type.Null()]);
export const NullableText = Type.Union([Type.String(), Type.Null()]);
export const Done = { 204: null } as const;

/** Nothing to say. */
export function done(): Response {
  return new Response(null, { status: 204 });
}

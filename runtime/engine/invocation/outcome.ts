// How an invocation ended. The set of outcomes is closed, and status, log level and metric label depend only on the
// outcome.
import { errorMessage, errorTable, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { FailureResponse } from '../http/error-pages.ts';

/** Error codes with which an invocation can end. */
export const FAILURE_CODES = [
  'worker_threw',
  'no_response',
  'illegal_response',
  'never_answered',
  'no_fetch_handler',
  'no_event_handler',
  'worker_syntax_error',
  'worker_start_failed',
  'startup_cpu_limit_exceeded',
  'cpu_limit_exceeded',
  'wall_limit_exceeded',
  'memory_limit_exceeded',
  'isolate_replaced',
  'isolate_lost',
  'overloaded',
  'deployment_quarantined',
  'engine_lost',
  'object_reset',
  'websocket_limit_exceeded',
  'host_memory_exceeded',
  'draining',
  'client_gone',
  'server_start_failed',
  'server_lost',
  'server_unavailable',
  'artifact_corrupt',
  'deployment_not_found',
  'deployment_unavailable',
  'internal',
] as const satisfies readonly ErrorCode[];
export type FailureCode = (typeof FAILURE_CODES)[number];

/** An error that a worker threw. Only the author of the worker sees this error. */
interface Thrown {
  readonly name: string;
  readonly message: string;
  /** The stack as V8 formatted it. */
  readonly stack: string | null;
}

/** The end of an invocation. */
export type Outcome =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed'; readonly code: FailureCode; readonly details: ErrorDetails; readonly thrown?: Thrown };

export const ok: Outcome = { kind: 'ok' };

export function failed(code: FailureCode, details: ErrorDetails = {}): Outcome & { kind: 'failed' } {
  return { kind: 'failed', code, details };
}

export function isFailureCode(code: string): code is FailureCode {
  return (FAILURE_CODES as readonly string[]).includes(code);
}

/** Whether an invocation counts as a failure, by its outcome or its status. */
export function isFailure(outcome: Outcome, status: number): boolean {
  return outcome.kind === 'failed' || status >= 500;
}

/** `ok`, or the error code, for the label of metrics and the field of log lines. */
export function outcomeLabel(outcome: Outcome): 'ok' | FailureCode {
  return outcome.kind === 'ok' ? 'ok' : outcome.code;
}

/** The description of a failure, for its author: the worker's error, or the message of the platform's error. */
export function reasonOf({ code, details }: Outcome & { kind: 'failed' }): string {
  return code === 'worker_threw' ? String(details['reason'] ?? '') : errorMessage(code, details);
}

/**
 * The log level of an invocation's end. Failures of the platform are errors, and failures of a worker are warnings,
 * including a status of 5xx. Everything else is for debugging.
 */
export function outcomeLevel(outcome: Outcome, status: number): 'debug' | 'warn' | 'error' {
  if (outcome.kind === 'ok') return isFailure(outcome, status) ? 'warn' : 'debug';
  const { blame } = errorTable[outcome.code];
  return blame === 'platform' ? 'error' : blame === 'worker' ? 'warn' : 'debug';
}

/**
 * The response that a client gets for a failure: JSON `{error, code, ...}`, with the code also in `x-platform-error`.
 */
export function failureResponse(outcome: Outcome & { kind: 'failed' }): FailureResponse {
  const { code } = outcome;
  const details = isPrivate(code) ? publicPart(outcome.details) : outcome.details;
  const body = JSON.stringify({ error: errorMessage(code, details).replace(/: \{reason\}$/, ''), code, ...details });
  const seconds = outcome.details['retryAfterSeconds'] ?? (errorTable[code].status === 503 ? 1 : null);
  const retry = seconds === null ? '' : `retry-after\0${seconds}\0`;
  return {
    status: errorTable[code].status,
    headerBlock: `content-type\0application/json\0cache-control\0no-store\0x-platform-error\0${code}\0${retry}`,
    body,
  };
}

/** The only public detail of an error whose other details are for its author: when to retry. */
function publicPart({ retryAfterSeconds }: ErrorDetails): ErrorDetails {
  return retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
}

// The error that a worker threw is in the log, for the author, and not shown to visitors.
function isPrivate(code: FailureCode): boolean {
  return (
    code === 'worker_threw' ||
    code === 'worker_start_failed' ||
    code === 'worker_syntax_error' ||
    code === 'server_start_failed' ||
    code === 'server_lost' ||
    code === 'server_unavailable' ||
    code === 'internal'
  );
}

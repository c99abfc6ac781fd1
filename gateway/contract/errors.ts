// Errors of the gateway: which codes of core/errors.ts it returns, and how they are sent. The envelope is the same as
// in the chat-completions API, so that its clients can parse it.
import { errorTable } from '#core/errors.ts';
import type { gatewayErrors } from '#core/errors/gateway.ts';

export type GatewayErrorCode =
  | keyof typeof gatewayErrors
  // Shared with the API and the engine.
  | 'method_not_allowed'
  | 'idempotency_mismatch'
  | 'client_gone'
  | 'unavailable';

/** Errors for which clients with automatic retries are told not to retry. */
const finalErrors: ReadonlySet<GatewayErrorCode> = new Set(['insufficient_quota', 'provider_not_configured']);

/** The `type` of an error in this protocol. */
function typeOf(code: GatewayErrorCode): string {
  if (code === 'insufficient_quota') return code;
  const { status } = errorTable[code];
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** How a failed attempt at a provider affects the next attempt. */
export interface UpstreamVerdict {
  /** Whether to try the same or another model. */
  readonly isRetryable: boolean;
  /**
   * Whether the error indicates a problem of the model, not of this request: no connection, a timeout, a 5xx status.
   */
  readonly isOutage: boolean;
  readonly retryAfterMs?: number | null;
  /** Whether to retry immediately with a modified request. */
  readonly isAmended?: boolean;
}

export interface GatewayErrorDetails {
  /** The field of the body that is wrong. */
  readonly param?: string | null;
  readonly retryAfterMs?: number | null;
  /** The provider's code, instead of ours, such as `context_length_exceeded`. */
  readonly as?: { readonly status: number; readonly code: string | null; readonly type: string | null };
  /** Set for errors of an attempt at a provider. */
  readonly upstream?: UpstreamVerdict;
}

/** An error that is sent to the client. */
export class GatewayError extends Error {
  readonly code: GatewayErrorCode;
  readonly details: GatewayErrorDetails;
  /** Status of the provider's response, if there is one. */
  readonly headers: Record<string, string> = {};

  constructor(code: GatewayErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  with(headers: Readonly<Record<string, string>>): this {
    Object.assign(this.headers, headers);
    return this;
  }

  get status(): number {
    return this.details.as?.status ?? errorTable[this.code].status;
  }
}

/** The error envelope, for a response or a stream. */
export function errorBody({ code, message, details }: GatewayError): { readonly error: Record<string, string | null> } {
  // This protocol has no code for an invalid body.
  const said = details.as === undefined ? (code === 'invalid_request' ? null : code) : details.as.code;
  const type = details.as?.type ?? typeOf(code);
  return { error: { message, type, param: details.param ?? null, code: said } };
}

/** Headers that tell the client when to retry. */
export function retryAfter(ms: number): Record<string, string> {
  return { 'retry-after': String(Math.ceil(ms / 1000)), 'retry-after-ms': String(Math.ceil(ms)) };
}

/** @param body the body, for protocols other than chat completions. */
export function errorResponse(error: GatewayError, body: unknown = errorBody(error)): Response {
  const headers = new Headers(error.headers);
  const { retryAfterMs } = error.details;
  if (finalErrors.has(error.code)) headers.set('x-should-retry', 'false');
  if (retryAfterMs !== undefined && retryAfterMs !== null) {
    for (const [name, value] of Object.entries(retryAfter(retryAfterMs)))
      if (!headers.has(name)) headers.set(name, value);
  }
  return Response.json(body, { status: error.status, headers });
}

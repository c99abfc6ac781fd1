// Errors of the gateway: one table of codes, statuses and types, and how they are sent. The envelope is that of the
// chat-completions API, so that its clients can parse it.

interface Row {
  readonly status: number;
  readonly type: string;
  /** Whether to tell clients with automatic retries not to retry. */
  readonly isFinal?: boolean;
}

/** Every code, with its status and type. */
export const gatewayErrors = {
  invalid_api_key: { status: 401, type: 'authentication_error' },
  token_expired: { status: 401, type: 'authentication_error' },
  model_not_allowed: { status: 403, type: 'permission_error' },
  invalid_request: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  loop_detected: { status: 400, type: 'invalid_request_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  idempotency_conflict: { status: 409, type: 'invalid_request_error' },
  idempotency_mismatch: { status: 422, type: 'invalid_request_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  route_not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  client_gone: { status: 499, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  insufficient_quota: { status: 429, type: 'insufficient_quota', isFinal: true },
  internal_error: { status: 500, type: 'server_error' },
  upstream_error: { status: 502, type: 'server_error' },
  upstream_timeout: { status: 504, type: 'server_error' },
  unavailable: { status: 503, type: 'server_error' },
  provider_not_configured: { status: 503, type: 'server_error', isFinal: true },
} satisfies Record<string, Row>;

export type GatewayErrorCode = keyof typeof gatewayErrors;

interface Details {
  /** The field of the body that is wrong. */
  readonly param?: string | null;
  readonly retryAfterMs?: number | null;
  /** The provider's code, instead of ours, such as `context_length_exceeded`. */
  readonly as?: { readonly status: number; readonly code: string | null; readonly type: string | null };
}

/** An error that is sent to the client. */
export class GatewayError extends Error {
  readonly code: GatewayErrorCode;
  readonly details: Details;
  /** Status of the provider's response, if there is one. */
  readonly headers: Record<string, string> = {};

  constructor(code: GatewayErrorCode, message: string, details: Details = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  with(headers: Readonly<Record<string, string>>): this {
    Object.assign(this.headers, headers);
    return this;
  }

  get status(): number {
    return this.details.as?.status ?? gatewayErrors[this.code].status;
  }
}

/** The error envelope, for a response or a stream. */
export function errorBody({ code, message, details }: GatewayError): { readonly error: Record<string, string | null> } {
  // This protocol has no code for an invalid body.
  const said = details.as === undefined ? (code === 'invalid_request' ? null : code) : details.as.code;
  const type = details.as?.type ?? gatewayErrors[code].type;
  return { error: { message, type, param: details.param ?? null, code: said } };
}

/** Headers that tell the client when to retry. */
export function retryAfter(ms: number): Record<string, string> {
  return { 'retry-after': String(Math.ceil(ms / 1000)), 'retry-after-ms': String(Math.ceil(ms)) };
}

/** @param body for protocols other than chat completions. */
export function errorResponse(error: GatewayError, body: unknown = errorBody(error)): Response {
  const headers = new Headers(error.headers);
  const { retryAfterMs } = error.details;
  const row: Row = gatewayErrors[error.code];
  if (row.isFinal === true) headers.set('x-should-retry', 'false');
  if (retryAfterMs !== undefined && retryAfterMs !== null) {
    for (const [name, value] of Object.entries(retryAfter(retryAfterMs)))
      if (!headers.has(name)) headers.set(name, value);
  }
  return Response.json(body, { status: error.status, headers });
}

// Errors that the AI gateway alone returns; it shares others with the API. Joined in ../errors.ts.
import type { ErrorRow } from './row.ts';

export const gatewayErrors = {
  invalid_api_key: { status: 401, blame: 'client', message: '{reason}' },
  token_expired: { status: 401, blame: 'client', message: '{reason}' },
  model_not_allowed: { status: 403, blame: 'client', message: '{reason}' },
  invalid_request: { status: 400, blame: 'client', message: '{reason}' },
  missing_required_parameter: { status: 400, blame: 'client', message: '{reason}' },
  loop_detected: { status: 400, blame: 'client', message: '{reason}' },
  request_too_large: { status: 413, blame: 'client', message: '{reason}' },
  idempotency_conflict: { status: 409, blame: 'client', message: '{reason}' },
  model_not_found: { status: 404, blame: 'client', message: '{reason}' },
  route_not_found: { status: 404, blame: 'client', message: '{reason}' },
  rate_limit_exceeded: { status: 429, blame: 'client', message: '{reason}' },
  insufficient_quota: { status: 429, blame: 'client', message: '{reason}' },
  internal_error: { status: 500, blame: 'platform', message: '{reason}' },
  upstream_error: { status: 502, blame: 'platform', message: '{reason}' },
  upstream_timeout: { status: 504, blame: 'platform', message: '{reason}' },
  provider_not_configured: { status: 503, blame: 'platform', message: '{reason}' },
} as const satisfies Record<string, ErrorRow>;

// Errors that the management API alone returns; it shares others with the engine. Joined in ../errors.ts.
import type { ErrorRow } from './row.ts';

export const apiErrors = {
  unauthorized: {
    status: 401,
    blame: 'client',
    message: 'Authentication required: sign in, or send a token as Authorization: Bearer <token>',
  },
  signature_invalid: { status: 401, blame: 'client', message: 'The signature is missing or invalid' },
  forbidden: { status: 403, blame: 'client', message: 'This requires the permission {permission}' },
  origin_forbidden: { status: 403, blame: 'client', message: 'Requests from {origin} are not allowed' },
  not_found: { status: 404, blame: 'client', message: 'Not found, or you do not have access' },
  limit_reached: { status: 409, blame: 'client', message: 'Limit of {what} reached: {allowed}' },
  storage_full: {
    status: 409,
    blame: 'client',
    message:
      'The organization stores {kept} bytes, {why}: delete unused data (the Usage page lists the largest items), or ask the operator for a larger plan. Deletions count within minutes',
  },
  idempotency_running: {
    status: 409,
    blame: 'client',
    message: 'The first request with this Idempotency-Key is still running: try again',
  },
  idempotency_mismatch: {
    status: 422,
    blame: 'client',
    message: 'This Idempotency-Key was used for a different request: use a new key',
  },
  confirmation_needed: { status: 409, blame: 'client', message: '{reason}' },
  payload_too_large: { status: 413, blame: 'client', message: 'The body is larger than {allowed} bytes' },
  unsupported_media_type: { status: 415, blame: 'client', message: '{reason}' },
  unprocessable: { status: 422, blame: 'client', message: '{reason}' },
  archive_invalid: { status: 422, blame: 'client', message: '{reason}' },
  artifact_invalid: { status: 422, blame: 'client', message: '{reason}' },
  artifact_too_large: { status: 413, blame: 'client', message: '{reason}' },
  artifact_too_many_files: { status: 413, blame: 'client', message: '{reason}' },
  rate_limited: { status: 429, blame: 'client', message: 'Too many requests: try again in {seconds} s' },
  not_available: { status: 501, blame: 'platform', message: '{reason}' },
  unavailable: { status: 503, blame: 'platform', message: '{reason}' },
} as const satisfies Record<string, ErrorRow>;

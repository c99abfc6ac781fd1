// The API's errors in one table: code -> status and message. `{name}` in a message is replaced by a detail.
import { passedOnStatuses } from '#resources/refusals.ts';

/** Sandbox error codes, with the sandbox service's reason as message. */
const passedOn = Object.fromEntries(
  Object.entries(passedOnStatuses).map(([code, status]) => [code, [status, '{reason}']]),
) as unknown as Readonly<Record<keyof typeof passedOnStatuses, readonly [number, '{reason}']>>;

/** Statuses and messages by code. */
export const apiErrors = {
  bad_request: [400, '{reason}'],
  unauthorized: [401, 'Sign in, or send a token: Authorization: Bearer <token>'],
  signature_invalid: [401, 'The signature is missing or wrong'],
  forbidden: [403, 'This needs the permission {permission}'],
  origin_forbidden: [403, 'Requests from {origin} are not allowed'],
  not_found: [404, 'There is no such thing, or it is not yours'],
  method_not_allowed: [405, 'This path does not take {method}'],
  conflict: [409, '{reason}'],
  limit_reached: [409, '{what}: at most {allowed}'],
  storage_full: [
    409,
    'The organization stores {kept} bytes, {why}: delete data that is not needed (the page Usage lists what takes most), or ask the operator for a larger plan. Deletions count within minutes',
  ],
  idempotency_running: [409, 'The first request with this Idempotency-Key has not ended'],
  confirmation_needed: [409, '{reason}'],
  payload_too_large: [413, 'The body is larger than {allowed} bytes'],
  unsupported_media_type: [415, '{reason}'],
  unprocessable: [422, '{reason}'],
  idempotency_mismatch: [422, 'This Idempotency-Key was used for another request'],
  archive_invalid: [422, '{reason}'],
  artifact_invalid: [422, '{reason}'],
  artifact_too_large: [413, '{reason}'],
  artifact_too_many_files: [413, '{reason}'],
  rate_limited: [429, 'Too many requests: try again in {seconds} s'],
  internal: [500, 'Something went wrong on our side; the log has it under the request id'],
  not_available: [501, '{reason}'],
  unavailable: [503, '{reason}'],
  ...passedOn,
} as const satisfies Record<string, readonly [number, string]>;
export type ApiErrorCode = keyof typeof apiErrors;

/** An error that is sent to clients. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ApiErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ApiErrorCode,
    details: Readonly<Record<string, string | number>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(apiErrors[code][1].replace(/\{(\w+)\}/g, (_, name: string) => String(details[name] ?? '')));
    this.code = code;
    this.headers = headers;
  }

  get status(): number {
    return apiErrors[this.code][0];
  }
}

// What an error of the engine or of the sandbox service is for clients of the API: the same code and status, whoever
// answers.

/** Codes that answers of these routes may have, with their statuses. */
export const refusalStatuses = {
  bad_request: 400,
  not_found: 404,
  conflict: 409,
  payload_too_large: 413,
  not_available: 501,
  unavailable: 503,
  // Of sandboxes, as the binding has them.
  binding_unavailable: 503,
  sandbox_unavailable: 503,
  sandbox_lost: 503,
  sandbox_destroyed: 410,
  sandbox_option_refused: 422,
  sandbox_copy_refused: 422,
  sandbox_exists: 409,
  snapshot_not_found: 404,
  sandbox_limit: 429,
  sandbox_disk_full: 507,
  file_not_found: 404,
  file_exists: 409,
  file_type: 409,
  file_forbidden: 403,
  process_not_found: 404,
  process_exists: 409,
  terminal_unavailable: 422,
} as const;
export type RefusalCode = keyof typeof refusalStatuses;

const codes: Readonly<Record<string, RefusalCode>> = {
  binding_not_found: 'bad_request',
  dashboard_not_found: 'not_found',
  execution_not_found: 'not_found',
  execution_state: 'conflict',
  not_supported: 'not_available',
  body_too_large: 'payload_too_large',
};

/** @param code of core/errors.ts @param status its own */
export function refusalOf(code: string, status: number): RefusalCode {
  if (Object.hasOwn(refusalStatuses, code)) return code as RefusalCode;
  if (Object.hasOwn(codes, code)) return codes[code]!;
  return status < 500 ? 'bad_request' : 'unavailable';
}

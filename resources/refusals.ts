// Maps errors of the engine and of the sandbox service to the API's error codes and statuses, which are the same
// whichever of the two failed.
import { errorTable, type ErrorCode } from '#core/errors.ts';

/** Sandbox error codes that the API returns unchanged, as the binding does (docs/sandboxes.md). */
const passedOn = [
  'binding_unavailable',
  'sandbox_unavailable',
  'sandbox_lost',
  'sandbox_destroyed',
  'sandbox_option_refused',
  'sandbox_copy_refused',
  'sandbox_exists',
  'snapshot_not_found',
  'sandbox_limit',
  'sandbox_disk_full',
  'file_not_found',
  'file_exists',
  'file_type',
  'file_forbidden',
  'process_not_found',
  'process_exists',
  'terminal_unavailable',
] as const satisfies readonly ErrorCode[];

/** Statuses of these codes. */
export const passedOnStatuses = Object.fromEntries(passedOn.map((code) => [code, errorTable[code].status])) as Readonly<
  Record<(typeof passedOn)[number], number>
>;

/** Error codes that these routes may return, with their statuses. */
export const refusalStatuses = {
  bad_request: 400,
  not_found: 404,
  conflict: 409,
  payload_too_large: 413,
  not_available: 501,
  unavailable: 503,
  ...passedOnStatuses,
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

/** @param code of core/errors.ts @param status of the original error */
export function refusalOf(code: string, status: number): RefusalCode {
  if (Object.hasOwn(refusalStatuses, code)) return code as RefusalCode;
  if (Object.hasOwn(codes, code)) return codes[code]!;
  return status < 500 ? 'bad_request' : 'unavailable';
}

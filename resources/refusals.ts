// Maps errors of the engine and of the sandbox service to the codes that the API returns, which are the same whichever
// of the two failed.
import type { ErrorCode } from '#core/errors.ts';

/** Sandbox error codes that the API returns unchanged, as the binding does (docs/sandboxes.md). */
export const passedOn = [
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

/** Error codes that these routes may return. */
const refusalCodes = [
  'bad_request',
  'not_found',
  'conflict',
  'payload_too_large',
  'not_available',
  'unavailable',
  ...passedOn,
] as const satisfies readonly ErrorCode[];
type RefusalCode = (typeof refusalCodes)[number];

const others: Readonly<Record<string, RefusalCode>> = {
  binding_not_found: 'bad_request',
  dashboard_not_found: 'not_found',
  execution_not_found: 'not_found',
  execution_state: 'conflict',
  not_supported: 'not_available',
  body_too_large: 'payload_too_large',
};

/** @param code of core/errors.ts @param status the status of the original error */
export function refusalOf(code: string, status: number): RefusalCode {
  const known = refusalCodes.find((one) => one === code);
  if (known !== undefined) return known;
  if (Object.hasOwn(others, code)) return others[code]!;
  return status < 500 ? 'bad_request' : 'unavailable';
}

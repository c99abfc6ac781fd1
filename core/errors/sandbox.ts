// Errors of sandboxes. A failed command is not an error: its exit code is a result. Joined in ../errors.ts.
import type { ErrorRow } from './row.ts';

export const sandboxErrors = {
  sandbox_unauthorized: {
    status: 401,
    blame: 'client',
    message: 'The sandbox service requires `Authorization: Bearer <SANDBOX_AUTH_TOKEN>`',
  },
  sandbox_operation_unknown: { status: 404, blame: 'client', message: 'Sandboxes have no operation {operation}' },
  sandbox_unavailable: { status: 503, blame: 'platform', message: 'The sandbox is unavailable: {reason}' },
  sandbox_lost: { status: 503, blame: 'platform', message: 'The sandbox was lost during the call: {reason}' },
  sandbox_destroyed: { status: 410, blame: 'worker', message: 'Sandbox {id} was destroyed during the call' },
  sandbox_option_refused: { status: 422, blame: 'worker', message: 'Sandboxes do not support these options: {reason}' },
  sandbox_copy_refused: { status: 422, blame: 'worker', message: 'This sandbox cannot be copied: {reason}' },
  sandbox_exists: { status: 409, blame: 'worker', message: 'A {what} {id} already exists' },
  sandbox_limit: { status: 429, blame: 'worker', message: '{what} would exceed {limit}' },
  file_not_found: { status: 404, blame: 'worker', message: 'No such file or folder: {path}' },
  file_exists: { status: 409, blame: 'worker', message: '{path} already exists' },
  file_type: { status: 409, blame: 'worker', message: '{path} is {what}' },
  file_forbidden: { status: 403, blame: 'worker', message: '{path} cannot be {action}: {reason}' },
  sandbox_disk_full: { status: 507, blame: 'worker', message: 'The disk of the sandbox is full' },
  process_not_found: { status: 404, blame: 'worker', message: 'The sandbox has no process {id}' },
  terminal_unavailable: { status: 422, blame: 'worker', message: 'Terminals are not available: {reason}' },
  process_exists: { status: 409, blame: 'worker', message: 'Process {id} is already running' },
  port_unreachable: { status: 502, blame: 'worker', message: 'Port {port} of the sandbox cannot be reached: {reason}' },
  sandbox_port_unknown: {
    status: 404,
    blame: 'client',
    message:
      'No exposed port has this address: it was revoked, or its sandbox was deleted. Call exposePort for the current address',
  },
  sandbox_port_locked: {
    status: 401,
    blame: 'client',
    message:
      'This port requires its token: send it once as ?token= in the URL, or with each request as the header {header}',
  },
  git_failed: { status: 422, blame: 'worker', message: 'git could not check out {url}: {reason}' },
} as const satisfies Record<string, ErrorRow>;

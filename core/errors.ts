// The table of errors: code -> HTTP status, blame, message. All expected failures are listed here; status, log level
// and visibility derive from the entry. Imports nothing.

/**
 * Who caused an error: the HTTP client, the tenant's worker, or the platform itself. Decides log level and visibility.
 */
type Blame = 'client' | 'worker' | 'platform';

interface Row {
  readonly status: number;
  readonly blame: Blame;
  readonly message: string;
}

/** Every error code with its HTTP status, blame and message. `{name}` in a message is replaced from `details`. */
export const errorTable = {
  // Requests that never reach a worker.
  host_not_found: { status: 404, blame: 'client', message: 'No deployment answers on host {host}' },
  asset_not_found: { status: 404, blame: 'client', message: 'Not found' },
  preview_protected: {
    status: 401,
    blame: 'client',
    message: 'This preview is protected: it wants its password, or the bypass token of its project',
  },
  preview_attempts_exceeded: {
    status: 429,
    blame: 'client',
    message: 'Too many wrong passwords for this preview: try again in {retryAfterSeconds} s',
  },
  method_not_allowed: { status: 405, blame: 'client', message: 'Method {method} is not allowed here' },
  bad_request: { status: 400, blame: 'client', message: 'Bad request: {reason}' },
  request_timeout: { status: 408, blame: 'client', message: 'The request did not arrive in time' },
  body_too_large: { status: 413, blame: 'client', message: 'The request body is larger than {limit} bytes' },
  url_too_long: { status: 414, blame: 'client', message: 'The request URL is longer than {limit} bytes' },
  headers_too_large: { status: 431, blame: 'client', message: 'The request headers are larger than {limit} bytes' },
  draining: { status: 503, blame: 'platform', message: 'The handler is shutting down' },
  overloaded: {
    status: 503,
    blame: 'platform',
    message: 'Too many requests are waiting for this deployment ({waiting} of {limit})',
  },
  deployment_not_found: { status: 404, blame: 'platform', message: 'No deployment {deployment} is known here' },
  deployment_unavailable: {
    status: 503,
    blame: 'platform',
    message: 'Deployment {deployment} cannot be loaded: {reason}',
  },

  // Workers that do not start.
  build_failed: { status: 503, blame: 'worker', message: 'The project does not build' },
  worker_syntax_error: { status: 500, blame: 'worker', message: 'The worker does not compile: {reason}' },
  worker_start_failed: { status: 500, blame: 'worker', message: 'The worker threw while it was loaded: {reason}' },
  startup_cpu_limit_exceeded: { status: 500, blame: 'worker', message: 'Startup CPU limit exceeded' },
  no_fetch_handler: { status: 500, blame: 'worker', message: 'The worker exports no fetch handler' },

  no_event_handler: { status: 500, blame: 'worker', message: 'The worker exports no {handler} handler' },

  // The Node process of an ssr project.
  server_start_failed: {
    status: 503,
    blame: 'worker',
    message: 'The server of this deployment did not start, and is tried again in {retryAfterSeconds} s: {reason}',
  },
  server_lost: { status: 502, blame: 'worker', message: 'The server of this deployment cut the connection: {reason}' },
  server_unavailable: { status: 503, blame: 'platform', message: 'No server process can be had here: {reason}' },

  // Workers that fail to respond.
  worker_threw: { status: 500, blame: 'worker', message: 'The worker threw: {reason}' },
  no_response: { status: 500, blame: 'worker', message: 'The fetch handler returned {got} instead of a Response' },
  illegal_response: { status: 500, blame: 'worker', message: 'The worker answered with an illegal {what}' },
  never_answered: {
    status: 500,
    blame: 'worker',
    message: 'The handler can never answer: nothing it waits for is pending',
  },
  cpu_limit_exceeded: { status: 500, blame: 'worker', message: 'CPU limit exceeded' },
  wall_limit_exceeded: { status: 504, blame: 'worker', message: 'The worker did not answer within {limitMs} ms' },
  memory_limit_exceeded: { status: 500, blame: 'worker', message: 'The worker used more than {limitMb} MB of memory' },
  isolate_lost: { status: 503, blame: 'worker', message: 'The isolate was lost while this event ran in it: {reason}' },
  isolate_replaced: {
    status: 503,
    blame: 'worker',
    message: 'The isolate that served this request was replaced: {reason}',
  },
  subrequest_limit_exceeded: {
    status: 500,
    blame: 'worker',
    message: 'More than {limit} subrequests in one invocation',
  },
  deployment_quarantined: {
    status: 503,
    blame: 'worker',
    message:
      'The deployment is quarantined, because its code ended engine processes or could not be ended, {strikes} times; try again in {retryAfterSeconds} s',
  },
  websocket_limit_exceeded: {
    status: 503,
    blame: 'worker',
    message: 'More than {limit} WebSockets of one deployment are open',
  },
  egress_forbidden: { status: 403, blame: 'worker', message: 'Requests to {address} are not allowed' },
  fetch_failed: { status: 502, blame: 'worker', message: '{reason}' },
  not_supported: { status: 501, blame: 'worker', message: '{what} is not supported yet' },
  invocation_ended: {
    status: 500,
    blame: 'worker',
    message: '{what} was called after the invocation that owns it ended',
  },
  no_invocation: {
    status: 500,
    blame: 'worker',
    message: 'A binding or fetch was called at the top level of a module: call it in a handler',
  },
  binding_not_found: { status: 500, blame: 'worker', message: 'The deployment declares no {kind} binding {binding}' },
  binding_unavailable: { status: 503, blame: 'platform', message: '{kind} bindings are not available: {reason}' },
  store_unavailable: {
    status: 503,
    blame: 'platform',
    message: 'The database of the bindings cannot be reached at the moment',
  },
  execution_not_found: { status: 404, blame: 'worker', message: 'There is no run {id} of workflow {workflow}' },
  execution_state: { status: 409, blame: 'worker', message: 'Run {id} is {status}, so it cannot {action}' },
  host_memory_exceeded: {
    status: 503,
    blame: 'worker',
    message: '{what} takes {bytes} bytes outside of the isolate, where this deployment uses {used} of {limit}',
  },
  disk_full: {
    status: 507,
    blame: 'platform',
    message: 'The disk of the platform is nearly full: nothing is written until its operator makes room',
  },
  quota_exceeded: { status: 500, blame: 'worker', message: '{what} would exceed {limit}' },
  conflict: { status: 409, blame: 'worker', message: '{reason}' },
  invalid_argument: { status: 400, blame: 'worker', message: '{reason}' },

  // Project databases. SQL errors are not listed here: they are responses of the database.
  database_corrupt: {
    status: 503,
    blame: 'platform',
    message: 'Database {database} is damaged and was set aside: {reason}',
  },
  database_unavailable: { status: 503, blame: 'platform', message: 'The database cannot be reached: {reason}' },
  migration_failed: { status: 500, blame: 'worker', message: 'Migration {file}, line {line}: {reason}' },
  migration_changed: {
    status: 500,
    blame: 'worker',
    message:
      'Migration {file} was applied already, and has been changed since: restore it, and put the change into a new migration',
  },

  // Sandboxes. A failed command is not an error: its exit code is a result.
  sandbox_unauthorized: {
    status: 401,
    blame: 'client',
    message: 'The sandbox service wants `Authorization: Bearer <SANDBOX_AUTH_TOKEN>`',
  },
  sandbox_operation_unknown: { status: 404, blame: 'client', message: 'Sandboxes have no operation {operation}' },
  sandbox_unavailable: { status: 503, blame: 'platform', message: 'The sandbox cannot be had now: {reason}' },
  sandbox_lost: { status: 503, blame: 'platform', message: 'The sandbox was lost during the call: {reason}' },
  sandbox_destroyed: { status: 410, blame: 'worker', message: 'Sandbox {id} was destroyed during the call' },
  sandbox_option_refused: { status: 422, blame: 'worker', message: 'There is no such sandbox here: {reason}' },
  sandbox_copy_refused: { status: 422, blame: 'worker', message: 'This sandbox cannot be copied: {reason}' },
  sandbox_exists: { status: 409, blame: 'worker', message: 'There is a {what} {id} already' },
  sandbox_limit: { status: 429, blame: 'worker', message: '{what} would exceed {limit}' },
  file_not_found: { status: 404, blame: 'worker', message: 'There is no file or folder {path}' },
  file_exists: { status: 409, blame: 'worker', message: 'There is something at {path} already' },
  file_type: { status: 409, blame: 'worker', message: '{path} is {what}' },
  file_forbidden: { status: 403, blame: 'worker', message: '{path} may not be {action}: {reason}' },
  sandbox_disk_full: { status: 507, blame: 'worker', message: 'The disk of the sandbox is full' },
  process_not_found: { status: 404, blame: 'worker', message: 'There is no process {id} in this sandbox' },
  terminal_unavailable: { status: 422, blame: 'worker', message: 'There is no terminal here: {reason}' },
  process_exists: { status: 409, blame: 'worker', message: 'Process {id} runs already' },
  port_unreachable: {
    status: 502,
    blame: 'worker',
    message: 'Nothing answers on port {port} of the sandbox: {reason}',
  },
  sandbox_port_unknown: {
    status: 404,
    blame: 'client',
    message:
      'No port of a sandbox has this address: it was taken back, or its sandbox is gone. exposePort gives the present one',
  },
  sandbox_port_locked: {
    status: 401,
    blame: 'client',
    message:
      'This port of a sandbox wants its token: once as ?token= in the address, or in each request as the header {header}',
  },
  git_failed: { status: 422, blame: 'worker', message: 'git could not check out {url}: {reason}' },

  // The platform itself.
  artifact_not_found: { status: 404, blame: 'client', message: 'There is no artifact {artifact} here' },
  branch_in_use: { status: 409, blame: 'client', message: 'Branch {branch} of {project} is still served: {reason}' },
  snapshot_not_found: { status: 404, blame: 'client', message: 'Project {project} has no snapshot {name}' },
  private_port_unauthorized: {
    status: 401,
    blame: 'client',
    message: 'The private port wants `Authorization: Bearer <PRIVATE_PORT_TOKEN>`',
  },
  private_port_forbidden: { status: 403, blame: 'client', message: 'The private port does not answer: {reason}' },
  internal_route_not_found: { status: 404, blame: 'client', message: 'The private port has no route {path}' },
  dashboard_forbidden: {
    status: 403,
    blame: 'client',
    message: 'The dashboard does not answer this request: {reason}',
  },
  mock_server_unauthorized: {
    status: 401,
    blame: 'client',
    message: 'The mock server wants `Authorization: Bearer <PLATFORM_MOCK_SERVER_TOKEN>`',
  },
  dashboard_not_found: { status: 404, blame: 'client', message: '{reason}' },
  dashboard_not_ready: { status: 503, blame: 'client', message: 'The dashboard has nothing to show yet: {reason}' },
  deliveries_overloaded: { status: 503, blame: 'platform', message: 'More than {limit} deliveries are under way' },
  no_engine: { status: 503, blame: 'platform', message: 'No engine accepts events at the moment' },
  engine_lost: {
    status: 503,
    blame: 'platform',
    message: 'The engine that served this request ended before it answered',
  },
  client_gone: { status: 499, blame: 'client', message: 'The client closed the connection' },
  artifact_corrupt: { status: 503, blame: 'platform', message: 'Artifact {artifact} is corrupt: {reason}' },
  snapshot_mismatch: {
    status: 500,
    blame: 'platform',
    message: 'The guest snapshot does not fit this build: {reason}. Delete {file} and start again',
  },
  internal: { status: 500, blame: 'platform', message: 'Internal error' },
} as const satisfies Record<string, Row>;

/** A code of {@link errorTable}. */
export type ErrorCode = keyof typeof errorTable;

/** Values for the placeholders of a message, and additional fields (never secrets). */
export type ErrorDetails = Readonly<Record<string, string | number | boolean>>;

/**
 * An error with a code of {@link errorTable}. Compare by `code`, never by `instanceof`: errors cross realms.
 *
 * @example
 * throw new PlatformError('host_not_found', { host: 'nobody.localhost' });
 */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(errorMessage(code, details), options);
    this.name = 'PlatformError';
    this.code = code;
    this.details = details;
  }

  /** The HTTP status a client gets. */
  get status(): number {
    return errorTable[this.code].status;
  }
}

/** The message of a code with its placeholders filled in; a placeholder without a value stays visible. */
export function errorMessage(code: ErrorCode, details: ErrorDetails = {}): string {
  return errorTable[code].message.replace(/\{(\w+)\}/g, (all, key: string) =>
    key in details ? String(details[key]) : all,
  );
}

/** Whether a value, also from another realm, is a known error code. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorTable, value);
}

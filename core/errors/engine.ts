// Errors of requests, events and bindings, as visitors and workers see them. Joined in ../errors.ts.
import type { ErrorRow } from './row.ts';

export const engineErrors = {
  // Requests that never reach a worker.
  host_not_found: { status: 404, blame: 'client', message: 'No deployment is served at {host}' },
  asset_not_found: { status: 404, blame: 'client', message: 'Not found' },
  preview_protected: {
    status: 401,
    blame: 'client',
    message: 'This preview is protected: enter its password, or send the bypass token of its project',
  },
  preview_attempts_exceeded: {
    status: 429,
    blame: 'client',
    message: 'Too many wrong passwords for this preview: try again in {retryAfterSeconds} s',
  },
  method_not_allowed: { status: 405, blame: 'client', message: 'Method {method} is not allowed here' },
  bad_request: { status: 400, blame: 'client', message: '{reason}' },
  request_timeout: { status: 408, blame: 'client', message: 'The request was not received within the time limit' },
  body_too_large: { status: 413, blame: 'client', message: 'The request body is larger than {limit} bytes' },
  url_too_long: { status: 414, blame: 'client', message: 'The request URL is longer than {limit} bytes' },
  headers_too_large: { status: 431, blame: 'client', message: 'The request headers are larger than {limit} bytes' },
  draining: { status: 503, blame: 'platform', message: 'The handler is shutting down' },
  overloaded: {
    status: 503,
    blame: 'platform',
    message: 'Too many requests are waiting for this deployment ({waiting} of {limit})',
  },
  deployment_not_found: { status: 404, blame: 'platform', message: 'Deployment {deployment} was not found' },
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
    message: 'The server of this deployment did not start, the next attempt is in {retryAfterSeconds} s: {reason}',
  },
  server_lost: {
    status: 502,
    blame: 'worker',
    message: 'The server of this deployment closed the connection: {reason}',
  },
  server_unavailable: { status: 503, blame: 'platform', message: 'The server of this deployment cannot run: {reason}' },

  // Workers that fail to respond.
  worker_threw: { status: 500, blame: 'worker', message: 'The worker threw: {reason}' },
  no_response: { status: 500, blame: 'worker', message: 'The fetch handler returned {got} instead of a Response' },
  illegal_response: { status: 500, blame: 'worker', message: 'The worker returned a response with an invalid {what}' },
  never_answered: {
    status: 500,
    blame: 'worker',
    message: 'The handler will never respond: it waits for a promise that can never settle',
  },
  cpu_limit_exceeded: { status: 500, blame: 'worker', message: 'CPU limit exceeded' },
  wall_limit_exceeded: { status: 504, blame: 'worker', message: 'The worker did not respond within {limitMs} ms' },
  memory_limit_exceeded: { status: 500, blame: 'worker', message: 'The worker used more than {limitMb} MB of memory' },
  isolate_lost: { status: 503, blame: 'worker', message: 'The isolate was lost while this event ran in it: {reason}' },
  object_reset: {
    status: 503,
    blame: 'worker',
    message: 'The durable object restarts and loses unsaved state: {reason}',
  },
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
      'The deployment is quarantined: {strikes} times, its code crashed an engine process or could not be stopped. Try again in {retryAfterSeconds} s',
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
    message: 'Bindings and fetch cannot be called at the top level of a module: call them in a handler',
  },

  // Bindings.
  binding_not_found: { status: 500, blame: 'worker', message: 'The deployment declares no {kind} binding {binding}' },
  service_not_found: {
    status: 502,
    blame: 'worker',
    message: 'The project {project} has no deployment that this worker can call',
  },
  pool_unavailable: {
    status: 500,
    blame: 'worker',
    message: 'The pool {binding} has no server: the variable {variable}: {reason}',
  },
  service_failed: { status: 502, blame: 'worker', message: 'The call of {project} failed: {reason}' },
  service_depth_exceeded: {
    status: 508,
    blame: 'worker',
    message: 'Calls between workers are at most {limit} deep: they call each other',
  },
  binding_unavailable: { status: 503, blame: 'platform', message: '{kind} bindings are not available: {reason}' },
  store_unavailable: {
    status: 503,
    blame: 'platform',
    message: 'The database of the bindings is unavailable: try again',
  },
  execution_not_found: { status: 404, blame: 'worker', message: 'Workflow {workflow} has no run {id}' },
  execution_exists: { status: 409, blame: 'worker', message: 'Workflow {workflow} already has a run {id}' },
  execution_state: { status: 409, blame: 'worker', message: 'Run {id} is {status}, so it cannot {action}' },
  host_memory_exceeded: {
    status: 503,
    blame: 'worker',
    message: '{what} needs {bytes} bytes outside of the isolate, but this deployment uses {used} of {limit} already',
  },
  disk_full: {
    status: 507,
    blame: 'platform',
    message: 'The disk of the platform is nearly full: writes are refused until the operator frees space',
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
      'Migration {file} was changed after it was applied: restore the file, and put the change into a new migration',
  },
} as const satisfies Record<string, ErrorRow>;

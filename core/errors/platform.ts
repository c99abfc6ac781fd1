// Errors of the platform's own ports and files. Joined in ../errors.ts.
import type { ErrorRow } from './row.ts';

export const platformErrors = {
  artifact_not_found: { status: 404, blame: 'client', message: 'Artifact {artifact} was not found' },
  project_in_use: { status: 409, blame: 'client', message: 'Project {project} is still served' },
  branch_in_use: { status: 409, blame: 'client', message: 'Branch {branch} of {project} is still in use: {reason}' },
  snapshot_not_found: { status: 404, blame: 'client', message: 'Project {project} has no snapshot {name}' },
  private_port_unauthorized: {
    status: 401,
    blame: 'client',
    message: 'The private port requires `Authorization: Bearer <PRIVATE_PORT_TOKEN>`',
  },
  private_port_forbidden: { status: 403, blame: 'client', message: 'The private port refuses this request: {reason}' },
  internal_route_not_found: { status: 404, blame: 'client', message: 'The private port has no route {path}' },
  dashboard_forbidden: { status: 403, blame: 'client', message: 'The dashboard refuses this request: {reason}' },
  mock_server_unauthorized: {
    status: 401,
    blame: 'client',
    message: 'The mock server requires `Authorization: Bearer <PLATFORM_MOCK_SERVER_TOKEN>`',
  },
  dashboard_not_found: { status: 404, blame: 'client', message: '{reason}' },
  dashboard_not_ready: { status: 503, blame: 'client', message: 'The dashboard has nothing to show yet: {reason}' },
  deliveries_overloaded: { status: 503, blame: 'platform', message: 'More than {limit} deliveries are in progress' },
  no_engine: { status: 503, blame: 'platform', message: 'No engine accepts events at the moment: try again' },
  engine_lost: {
    status: 503,
    blame: 'platform',
    message: 'The engine that served this request exited before it responded',
  },
  client_gone: { status: 499, blame: 'client', message: 'The client closed the connection' },
  artifact_corrupt: { status: 503, blame: 'platform', message: 'Artifact {artifact} is corrupt: {reason}' },
  snapshot_mismatch: {
    status: 500,
    blame: 'platform',
    message: 'The guest snapshot does not match this build: {reason}. Delete {file} and start again',
  },
  internal: { status: 500, blame: 'platform', message: 'Internal error' },
} as const satisfies Record<string, ErrorRow>;

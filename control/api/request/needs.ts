// The access that a route declares: checked before the route runs, shown in the API description, and walked by the
// authorization test of test/integration/control/.
import type { Subject } from '../../access/access.ts';
import type { Permission } from '../../access/permissions.ts';

type Requirement = readonly [{ readonly token: readonly string[] }, { readonly session: readonly string[] }];

/** Options of a route that needs a permission. */
export interface Needs {
  readonly security: Requirement;
  readonly strict: true;
  readonly 'x-subject'?: Subject;
  readonly 'x-also'?: readonly Permission[];
}

/** Options of a route that is open to everybody. */
interface OpenToAll {
  readonly security: readonly [];
  readonly 'x-uncounted'?: true;
}

/**
 * Options of a route that needs a permission.
 *
 * @param subject kind of record that the id in the path identifies: `:id`, or `:organizationId`, `:orgId`,
 * `:projectId`, `:deploymentId`. Access is then checked before the request is read. Without a subject, the route calls
 * `ctx.state.access` itself, for example for a project named in the body.
 * @param also further permissions that the route checks in some cases.
 * @example app.get('/projects/:id', { ...needs('project:read', 'project'), response }, handler)
 */
export function needs(permission: Permission, subject?: Subject, also?: readonly Permission[]): Needs {
  return {
    security: [{ token: [permission] }, { session: [permission] }],
    strict: true,
    ...(subject !== undefined && { 'x-subject': subject }),
    ...(also !== undefined && { 'x-also': also }),
  };
}

/**
 * Options of a route that is open to everybody and must only use public information.
 *
 * @param rate `uncounted`: no rate limit by address, since many callers share one address and the route authenticates
 * them itself.
 */
export function openToAll(rate: 'counted' | 'uncounted' = 'counted'): OpenToAll {
  return { security: [], ...(rate === 'uncounted' && { 'x-uncounted': true }) };
}

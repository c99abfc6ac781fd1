// What a route declares of access: asked before the route runs, shown in the API description, and walked by
// the authorization walk of test/integration/control/.
import type { Subject } from '../../access/access.ts';
import type { Permission } from '../../access/permissions.ts';

type Requirement = readonly [{ readonly token: readonly string[] }, { readonly session: readonly string[] }];

/** Options of a route that needs a permission. */
export interface Needs {
  readonly security: Requirement;
  readonly 'x-subject'?: Subject;
  readonly 'x-also'?: readonly Permission[];
}

/** Options of a route that is open to everybody. */
export interface OpenToAll {
  readonly security: readonly [];
  readonly 'x-uncounted'?: true;
}

/**
 * Options of a route that needs a permission.
 *
 * @param subject what the id in the path is of: `:id`, or `:organizationId`, `:orgId`, `:projectId`, `:deploymentId`.
 *   Then access is decided before the request is read. Without it, the route itself asks `ctx.state.access`, for the
 *   organization or project that is named in the body, say.
 * @param also further permissions that the route asks for in some cases.
 * @example app.get('/projects/:id', { ...needs('project:read', 'project'), response }, handler)
 */
export function needs(permission: Permission, subject?: Subject, also?: readonly Permission[]): Needs {
  return {
    security: [{ token: [permission] }, { session: [permission] }],
    ...(subject !== undefined && { 'x-subject': subject }),
    ...(also !== undefined && { 'x-also': also }),
  };
}

/**
 * Options of a route that is open to everybody; it must do with what anybody may know.
 *
 * @param rate `uncounted`: the requests of one address are not limited, since many come from the same and the route
 *   tells by itself who asks.
 */
export function openToAll(rate: 'counted' | 'uncounted' = 'counted'): OpenToAll {
  return { security: [], ...(rate === 'uncounted' && { 'x-uncounted': true }) };
}

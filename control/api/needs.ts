// What a route declares of access: shown in the API description, and compared with what it asks by the authorization
// walk.
import type { Permission } from '../access/permissions.ts';

/**
 * Options of a route that needs a permission.
 *
 * @example app.get('/projects/:id', { ...needs('project:read'), response }, handler)
 */
export function needs(permission: Permission): {
  readonly security: readonly [{ readonly token: readonly [Permission] }];
} {
  return { security: [{ token: [permission] }] };
}

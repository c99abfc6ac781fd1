// Permissions of each role and each token scope, in one table. Pure.

/** Roles in an organization, the strongest first. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** Scopes of tokens, beginning with the narrowest: each includes the scopes before it. */
export const tokenScopes = ['read', 'deploy', 'write', 'admin'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/**
 * Permission -> the weakest role that has it, and the narrowest token scope that grants it. `operator`: only admins of
 * the installation. Null means the permission concerns the account itself, not an organization.
 */
export const permissions = {
  'organization:read': ['viewer', 'read'],
  'organization:write': ['admin', 'admin'],
  'organization:delete': ['owner', 'admin'],
  'organization:leave': ['viewer', 'admin'],
  'member:write': ['admin', 'admin'],
  'project:read': ['viewer', 'read'],
  'project:create': ['member', 'write'],
  'project:write': ['member', 'write'],
  'project:delete': ['admin', 'admin'],
  'deployment:read': ['viewer', 'read'],
  'deployment:create': ['member', 'deploy'],
  'deployment:promote': ['member', 'deploy'],
  'variable:read': ['member', 'read'],
  'variable:write': ['member', 'write'],
  'secret:write': ['admin', 'write'],
  'log:read': ['viewer', 'read'],
  'data:read': ['member', 'read'],
  'data:write': ['member', 'write'],
  'domain:read': ['viewer', 'read'],
  'domain:write': ['admin', 'write'],
  'token:read': ['admin', 'admin'],
  'token:write': ['admin', 'admin'],
  'webhook:write': ['admin', 'admin'],
  'drain:write': ['admin', 'write'],
  'alert:write': ['admin', 'write'],
  'ai:write': ['admin', 'write'],
  'audit:read': ['admin', 'read'],
  'usage:read': ['viewer', 'read'],
  'account:read': [null, 'read'],
  'account:write': [null, 'admin'],
  operator: ['operator', 'admin'],
} as const satisfies Record<string, readonly [Role | 'operator' | null, TokenScope]>;
export type Permission = keyof typeof permissions;

/** Whether a role has a permission. */
export function roleMay(role: Role, permission: Permission): boolean {
  const [least] = permissions[permission];
  if (least === null) return true;
  return least !== 'operator' && roles.indexOf(role) <= roles.indexOf(least);
}

/** Whether a token scope grants a permission. Null means a session, which grants every permission. */
export function scopeMay(scope: TokenScope | null, permission: Permission): boolean {
  return scope === null || tokenScopes.indexOf(scope) >= tokenScopes.indexOf(permissions[permission][1]);
}

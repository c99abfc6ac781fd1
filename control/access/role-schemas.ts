// Schemas of roles and scopes in requests and responses.
import Type from '#core/typebox/typebox.mjs';
import { roles, tokenScopes } from './permissions.ts';

export const RoleSchema = Type.Enum([...roles]);
/** Roles that can be assigned to others: an organization has one owner. */
export const GrantedRole = Type.Enum(['admin', 'member', 'viewer']);
export const ScopeSchema = Type.Enum([...tokenScopes]);

// Roles and scopes as the API's requests and answers have them.
import Type from '#core/typebox/typebox.mjs';
import { roles, tokenScopes } from './permissions.ts';

export const RoleSchema = Type.Enum([...roles]);
export const ScopeSchema = Type.Enum([...tokenScopes]);

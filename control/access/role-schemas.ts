// Schemas of roles and scopes in requests and responses.
import Type from '#core/typebox/typebox.mjs';
import { roles, tokenScopes } from './permissions.ts';

export const RoleSchema = Type.Enum([...roles]);
export const ScopeSchema = Type.Enum([...tokenScopes]);

// Shared by the routes of databases: naming a database, running an operation on it, and returning rows.
import type { ResourceOperation, ResourceOperations } from '#core/resource-call.ts';
import Type from '#core/typebox/typebox.mjs';
import { BindingName, type ResourceAccess } from './access.ts';

/** Timeout of operations on a whole database, and of scripts. */
export const WHOLE_MS_MAX = 120_000;

export const ofDatabase = Type.Object({ id: Type.String(), database: BindingName });
export const Row = Type.Array(Type.Unknown());

/** The fields of a route's request that select the database. */
interface Asking {
  readonly params: { readonly id: string; readonly database: string };
  readonly query: { readonly branch?: string | undefined };
  readonly state: { readonly resources: ResourceAccess };
}

/** Runs an operation on the route's database. */
export function ask<Operation extends ResourceOperation>(
  { params, query, state }: Asking,
  operation: Operation,
  args: ResourceOperations[Operation]['takes'],
  waitMs?: number,
): Promise<ResourceOperations[Operation]['gives']> {
  const question = { project: params.id, branch: query.branch, binding: params.database, args };
  return state.resources.ask(operation, waitMs === undefined ? question : { ...question, waitMs });
}

/** Rows as a response declares them: the lists of an operation are read-only. */
export const toRows = (rows: readonly (readonly unknown[])[]): unknown[][] => rows.map((row) => [...row]);

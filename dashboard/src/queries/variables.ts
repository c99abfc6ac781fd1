// Environment variables of a project and their scopes.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

export const variablesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['variables', projectId],
    queryFn: ({ signal }) => readVariables(projectId, signal),
  });
const readVariables = (projectId: string, signal?: AbortSignal) =>
  dataOf(api.get('/environment-variables/:projectId', { params: { projectId }, ...(signal && { signal }) }));

/** A variable. */
export type Variable = Awaited<ReturnType<typeof readVariables>>['items'][number];

/** Labels of scopes. */
export const scopeWords: Readonly<Record<Variable['scope'], string>> = {
  production: 'Production',
  preview: 'All previews',
  branch: 'One branch',
  dev: 'platform dev',
};

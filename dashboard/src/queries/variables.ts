// Variables of a project, and the scopes that they have.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

export const variablesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['variables', projectId],
    queryFn: ({ signal }) => readVariables(projectId, signal),
  });
const readVariables = (projectId: string, signal?: AbortSignal) =>
  dataOf(api.get('/environment-variables/:projectId', { params: { projectId }, ...(signal && { signal }) }));

/** One of them. */
export type Variable = Awaited<ReturnType<typeof readVariables>>['items'][number];

/** Scopes, in words. */
export const scopeWords: Readonly<Record<Variable['scope'], string>> = {
  production: 'Production',
  preview: 'All previews',
  branch: 'One branch',
  dev: 'platform dev',
};

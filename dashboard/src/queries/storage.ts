// Storage used by an organization, as last measured.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

const STALE_MS = 30_000;

const readStorage = (organizationId: string, signal?: AbortSignal) =>
  dataOf(api.get('/orgs/:id/storage', { params: { id: organizationId }, ...(signal && { signal }) }));

/** Storage by kind. */
export type Storage = Awaited<ReturnType<typeof readStorage>>;

export const storageQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['storage', organizationId],
    queryFn: ({ signal }) => readStorage(organizationId, signal),
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });

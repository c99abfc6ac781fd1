// Analytics of a project: requests by status class, failures, latency and CPU, over time and by route, with the
// filters that are kept in the address.
import type { AnalyticsSearch } from './analytics-search.ts';
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

const STALE_MS = 15_000;

const readAnalytics = (id: string, search: AnalyticsSearch, signal: AbortSignal) => {
  const { range = '1h', from, to, kind, route, deployment, compare, order } = search;
  return dataOf(
    api.get('/projects/:id/analytics', {
      params: { id },
      query: {
        ...(from !== undefined && to !== undefined ? { from, to } : { range }),
        ...(kind !== undefined && { kind }),
        ...(route !== undefined && { route }),
        ...(deployment !== undefined && { deploymentId: deployment }),
        ...(compare !== undefined && { compareTo: compare }),
        ...(order !== undefined && { order }),
      },
      signal,
    }),
  );
};

/** Analytics of a period. */
export type Analytics = Awaited<ReturnType<typeof readAnalytics>>;
export type RouteCounts = Analytics['routes'][number];

export const analyticsQuery = (id: string, search: AnalyticsSearch) =>
  queryOptions({
    queryKey: ['analytics', id, search],
    queryFn: ({ signal }) => readAnalytics(id, search, signal),
    // With another filter or order, the current data stays until the new data is loaded; with another project, it is
    // replaced immediately.
    placeholderData: (previous, query) => (query?.queryKey[1] === id ? previous : undefined),
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });

// Usage of a project or organization: sums by kind, route and time, with the plan's budgets.
import { ranges, type Kind, type Range } from './usage-search.ts';
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { countText } from '../components/text.ts';

/** Usage of one project, or of all projects of an organization. */
export type UsageOf = { readonly projectId: string } | { readonly organizationId: string };

const HOUR_MS = 3_600_000;
const STALE_MS = 30_000;

/** The time range begins at a whole hour, so that the query key stays the same for a while. */
export function spanOf(range: Range): { readonly from: string; readonly to: string } {
  const end = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  return { from: new Date(end - ranges[range][1] * HOUR_MS).toISOString(), to: new Date(end).toISOString() };
}

interface UsageFilter {
  readonly groupBy: 'hour' | 'day' | 'kind' | 'route' | 'project';
  readonly kind?: Kind;
}

const readUsage = (of: UsageOf, range: Range, filter: UsageFilter, signal?: AbortSignal) => {
  const options = { query: { ...spanOf(range), ...filter }, ...(signal && { signal }) };
  return 'projectId' in of
    ? dataOf(api.get('/projects/:id/usage', { params: { id: of.projectId }, ...options }))
    : dataOf(api.get('/orgs/:id/usage', { params: { id: of.organizationId }, ...options }));
};

/** Sums. */
export type Usage = Awaited<ReturnType<typeof readUsage>>;
export type UsageItem = Usage['items'][number];
export type Invocation = NonNullable<UsageItem['costliest']>;

export const usageQuery = (of: UsageOf, range: Range, filter: UsageFilter) =>
  queryOptions({
    queryKey: ['usage', of, range, filter],
    queryFn: ({ signal }) => readUsage(of, range, filter, signal),
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });

/** Invocations of a route with the highest share of their CPU budget. */
export const costliestQuery = (projectId: string, range: Range, kind: Kind, route: string) =>
  queryOptions({
    queryKey: ['costliest', projectId, range, kind, route],
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/usage/costliest', {
          params: { id: projectId },
          query: { ...spanOf(range), kind, route, limit: 50 },
          signal,
        }),
      ),
    staleTime: STALE_MS,
  });

/** @example cpuText(0.042) // '42 µs' */
export function cpuText(ms: number | null): string {
  if (ms === null) return '–';
  if (ms === 0) return '0';
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  if (ms < 10_000) return `${countText(Math.round(ms))} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}

/** @example shareText(0.0123) // '1.2 %' */
export function shareText(share: number): string {
  if (share === 0) return '0 %';
  if (share < 0.001) return '< 0.1 %';
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

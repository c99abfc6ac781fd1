// AI calls, usage and limits of a project or organization, and the gateway settings of an organization.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';
import { byCursor } from '../components/cursor-list.tsx';
import { countText } from '../components/text.ts';
import { spanOf, type UsageOf } from './usage.ts';
import type { Range } from './usage-search.ts';

const STALE_MS = 30_000;
const PAGE = 50;

/** Search parameters. */
export interface AiSearch {
  readonly range?: Range | undefined;
  readonly model?: string | undefined;
  /** The agent's run that made the call. */
  readonly run?: string | undefined;
  readonly failed?: boolean | undefined;
}

export type AiGroup = 'model' | 'project' | 'deployment' | 'key' | 'hour' | 'day';

const readAiUsage = (of: UsageOf, range: Range, groupBy: AiGroup, signal: AbortSignal) => {
  const options = { query: { ...spanOf(range), groupBy }, signal };
  return 'projectId' in of
    ? dataOf(api.get('/projects/:id/ai/usage', { params: { id: of.projectId }, ...options }))
    : dataOf(api.get('/orgs/:id/ai/usage', { params: { id: of.organizationId }, ...options }));
};
export type AiUsage = Awaited<ReturnType<typeof readAiUsage>>;
export type AiUsageItem = AiUsage['items'][number];

export const aiUsageQuery = (of: UsageOf, range: Range, groupBy: AiGroup) =>
  queryOptions({
    queryKey: ['ai-usage', of, range, groupBy],
    queryFn: ({ signal }) => readAiUsage(of, range, groupBy, signal),
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });

const readAiMonth = (of: UsageOf, signal: AbortSignal) =>
  'projectId' in of
    ? dataOf(api.get('/projects/:id/ai/month', { params: { id: of.projectId }, signal }))
    : dataOf(api.get('/orgs/:id/ai/month', { params: { id: of.organizationId }, signal }));

/** Cost of the current month, its forecast and its budget. */
export const aiMonthQuery = (of: UsageOf) =>
  queryOptions({
    queryKey: ['ai-month', of],
    queryFn: ({ signal }) => readAiMonth(of, signal),
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });

const readAiCalls = (
  of: UsageOf,
  { model, run, failed }: AiSearch,
  cursor: string | undefined,
  signal: AbortSignal,
) => {
  const narrowed = {
    ...(model !== undefined && { model }),
    ...(run !== undefined && { run }),
    ...(failed && { failed }),
  };
  const options = { query: { limit: PAGE, ...narrowed, ...(cursor !== undefined && { cursor }) }, signal };
  return 'projectId' in of
    ? dataOf(api.get('/projects/:id/ai/calls', { params: { id: of.projectId }, ...options }))
    : dataOf(api.get('/orgs/:id/ai/calls', { params: { id: of.organizationId }, ...options }));
};
export type AiCall = Awaited<ReturnType<typeof readAiCalls>>['items'][number];

export const aiCallsQuery = (of: UsageOf, search: AiSearch) =>
  infiniteQueryOptions({
    queryKey: ['ai-calls', of, search.model, search.run, search.failed],
    queryFn: ({ signal, pageParam }) => readAiCalls(of, search, pageParam, signal),
    ...byCursor,
  });

const readAiSettings = (id: string, signal: AbortSignal) => dataOf(api.get('/orgs/:id/ai', { params: { id }, signal }));
export type AiSettings = Awaited<ReturnType<typeof readAiSettings>>;
export type AiProvider = AiSettings['providers'][number];
export type AiReadiness = AiSettings['readiness'];
export type AiLimit = AiSettings['limits'][number];

export const aiSettingsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['ai-settings', organizationId],
    queryFn: ({ signal }) => readAiSettings(organizationId, signal),
  });

export const projectAiQuery = (id: string) =>
  queryOptions({
    queryKey: ['ai-limits', id],
    queryFn: ({ signal }) => dataOf(api.get('/projects/:id/ai', { params: { id }, signal })),
  });

/** @example limitText({ of: 'tokens', per: 'day', most: 1000 }) // '1,000 tokens per day' */
export const limitText = ({ of, per, most }: AiLimit): string =>
  of === 'cost' ? `a cost of ${countText(most)} per ${per}` : `${countText(most)} ${of} per ${per}`;

/**
 * An amount of money, in millionths of the currency, which the price table does not name.
 *
 * @example costText(1_234_567) // '1.2346'
 */
export function costText(micros: number | null): string {
  if (micros === null) return 'no price';
  if (micros === 0) return '0';
  const value = micros / 1_000_000;
  return value < 0.0001 ? '< 0.0001' : value.toLocaleString('en', { maximumFractionDigits: 4 });
}

// API calls for alerts of a project or of the operator, which have different routes. Used by the alert pages.
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { byCursor } from '../../components/cursor-list.tsx';

const LOOK_MS = 10_000;
const SERIES_LOOK_MS = 30_000;

const readRules = (id: string | null, signal: AbortSignal) =>
  id === null
    ? dataOf(api.get('/operator/alert-rules', { signal }))
    : dataOf(api.get('/projects/:id/alert-rules', { params: { id }, signal }));
export type Rule = Awaited<ReturnType<typeof readRules>>[number];

/** The rules of a project; null means the operator. */
export const rulesQuery = (id: string | null) =>
  queryOptions({
    queryKey: ['alert-rules', id],
    queryFn: ({ signal }) => readRules(id, signal),
    refetchInterval: LOOK_MS,
  });

/** Rules that fire now in any project of an organization. */
export const firingQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['firing-alerts', organizationId],
    queryFn: ({ signal }) => dataOf(api.get('/orgs/:id/alerts', { params: { id: organizationId }, signal })),
    refetchInterval: LOOK_MS,
  });

export const readChannels = (id: string | null, signal: AbortSignal) =>
  id === null
    ? dataOf(api.get('/operator/alert-channels', { signal }))
    : dataOf(api.get('/projects/:id/alert-channels', { params: { id }, signal }));
export type Channel = Awaited<ReturnType<typeof readChannels>>['items'][number];

const readEvents = (id: string | null, cursor: string | undefined, signal: AbortSignal) => {
  const query = cursor === undefined ? {} : { cursor };
  return id === null
    ? dataOf(api.get('/operator/alerts', { query, signal }))
    : dataOf(api.get('/projects/:id/alerts', { params: { id }, query, signal }));
};

/** Fired, resolved and tested alerts, newest first. */
export const eventsQuery = (id: string | null) =>
  infiniteQueryOptions({
    queryKey: ['alert-events', id],
    queryFn: ({ signal, pageParam }) => readEvents(id, pageParam, signal),
    ...byCursor,
    refetchInterval: LOOK_MS,
  });
export type AlertEvent = Awaited<ReturnType<typeof readEvents>>['items'][number];

/** A new rule. */
interface NewRule {
  readonly name: string;
  readonly kind: Rule['kind'];
  readonly threshold: number;
  /** Only kinds that evaluate a window have this field. */
  readonly windowMinutes?: number;
  readonly evaluations: number;
  /** The value below which the rule resolves; by default 80 % of the threshold. */
  readonly clearBelow?: number;
  readonly quietMinutes: number;
  readonly channels: string[];
}

export const createRule = (id: string | null, { kind, ...rest }: NewRule) =>
  id === null
    ? dataOf(api.post('/operator/alert-rules', { body: { ...rest, kind: kind as 'disk' | 'certificate' } }))
    : dataOf(
        api.post('/projects/:id/alert-rules', {
          params: { id },
          body: { ...rest, kind: kind as 'error_rate' | 'latency' | 'cpu_budget' | 'ai_budget' | 'certificate' },
        }),
      );

/** Changes settings of a rule, or switches it on or off. Its kind stays. */
export const changeRule = (
  id: string | null,
  ruleId: string,
  body: Partial<Omit<NewRule, 'kind'>> & { readonly enabled?: boolean },
) =>
  id === null
    ? dataOf(api.patch('/operator/alert-rules/:ruleId', { params: { ruleId }, body }))
    : dataOf(api.patch('/projects/:id/alert-rules/:ruleId', { params: { id, ruleId }, body }));

/** Measurements of a rule in its last windows; null if it has none. */
export const seriesQuery = (id: string | null, ruleId: string) =>
  queryOptions({
    queryKey: ['alert-series', id, ruleId],
    queryFn: ({ signal }) =>
      id === null
        ? dataOf(api.get('/operator/alert-rules/:ruleId/series', { params: { ruleId }, signal }))
        : dataOf(api.get('/projects/:id/alert-rules/:ruleId/series', { params: { id, ruleId }, signal })),
    refetchInterval: SERIES_LOOK_MS,
  });

export const deleteRule = (id: string | null, ruleId: string) =>
  id === null
    ? dataOf(api.delete('/operator/alert-rules/:ruleId', { params: { ruleId } }))
    : dataOf(api.delete('/projects/:id/alert-rules/:ruleId', { params: { id, ruleId } }));

/** A new channel. */
interface NewChannel {
  readonly name: string;
  readonly kind: Channel['kind'];
  readonly url?: string;
  readonly to?: string;
}

export const createChannel = (id: string | null, body: NewChannel) =>
  id === null
    ? dataOf(api.post('/operator/alert-channels', { body }))
    : dataOf(api.post('/projects/:id/alert-channels', { params: { id }, body }));

export const deleteChannel = (id: string | null, channelId: string) =>
  id === null
    ? dataOf(api.delete('/operator/alert-channels/:channelId', { params: { channelId } }))
    : dataOf(api.delete('/projects/:id/alert-channels/:channelId', { params: { id, channelId } }));

export const testChannel = (id: string | null, channelId: string) =>
  id === null
    ? dataOf(api.post('/operator/alert-channels/:channelId/test', { params: { channelId } }))
    : dataOf(api.post('/projects/:id/alert-channels/:channelId/test', { params: { id, channelId } }));

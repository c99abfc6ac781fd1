// Stored log lines, invocations and traces of a project, with their filters.
import { logRanges, type LogSearch } from './log-search.ts';
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

const RANGE_STEP_MS = 10_000;
const LOOK_MS = 15_000;
const DROPPED_STALE_MS = 60_000;
const PAGE = 300;
const BUCKETS = 60;

/** Start and end of the selected range. "Now" is rounded to ten seconds. */
function spanOf({ range = '1h', from, to }: LogSearch): { readonly from: string; readonly to: string } {
  if (from !== undefined && to !== undefined) return { from, to };
  const end = Math.ceil(Date.now() / RANGE_STEP_MS) * RANGE_STEP_MS;
  return { from: new Date(end - logRanges[range][1]).toISOString(), to: new Date(end).toISOString() };
}

/** Filters of both lines and invocations. */
function shared({ route, branch, deployment, trace, kind }: LogSearch) {
  return {
    ...(kind !== undefined && { kind }),
    ...(route !== undefined && { route }),
    ...(branch !== undefined && { branch }),
    ...(deployment !== undefined && { deploymentId: deployment }),
    ...(trace !== undefined && { traceId: trace }),
  };
}

/** A text between slashes is a regular expression. */
const ofText = (text: string) => {
  const regex = /^\/(.+)\/$/.exec(text)?.[1];
  return regex === undefined ? { search: text } : { regex };
};

const ofLines = ({ level, search }: LogSearch) => ({
  ...(level !== undefined && { level }),
  ...(search !== undefined && ofText(search)),
});

const readLines = (id: string, asked: LogSearch, cursor?: string, signal?: AbortSignal) =>
  dataOf(
    api.get('/projects/:id/logs', {
      params: { id },
      query: {
        ...spanOf(asked),
        ...shared(asked),
        ...ofLines(asked),
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      },
      ...(signal && { signal }),
    }),
  );

/** A stored log line. */
export type Line = Awaited<ReturnType<typeof readLines>>['items'][number];

/** Query key of a search for lines, without parameters that do not filter. */
export const lineKey = (asked: LogSearch): LogSearch => ({
  ...asked,
  invocation: undefined,
  outcome: undefined,
  order: undefined,
  method: undefined,
  live: undefined,
});

export const linesQuery = (id: string, asked: LogSearch) => ({
  queryKey: ['lines', id, lineKey(asked)] as const,
  queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: string | undefined }) =>
    readLines(id, asked, pageParam, signal),
});

export const lineHistogramQuery = (id: string, asked: LogSearch) =>
  queryOptions({
    queryKey: ['line-histogram', id, lineKey(asked)],
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/logs/histogram', {
          params: { id },
          query: { ...spanOf(asked), ...shared(asked), ...ofLines(asked), buckets: BUCKETS },
          signal,
        }),
      ),
  });

const readInvocations = (id: string, asked: LogSearch, cursor?: string, signal?: AbortSignal) =>
  dataOf(
    api.get('/projects/:id/invocations', {
      params: { id },
      query: {
        ...spanOf(asked),
        ...shared(asked),
        ...(asked.outcome !== undefined && { outcome: asked.outcome }),
        ...(asked.order !== undefined && { order: asked.order }),
        ...(asked.method !== undefined && { method: asked.method }),
        ...(asked.search !== undefined && { path: `${asked.search}*` }),
        limit: 100,
        ...(cursor !== undefined && { cursor }),
      },
      ...(signal && { signal }),
    }),
  );

/** A finished request or event. */
export type StoredInvocation = Awaited<ReturnType<typeof readInvocations>>['items'][number];

export const invocationsQuery = (id: string, asked: LogSearch) => ({
  queryKey: ['invocations', id, { ...asked, invocation: undefined }] as const,
  queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: string | undefined }) =>
    readInvocations(id, asked, pageParam, signal),
});

/** How many lines, invocations and spans of a period were not stored. */
export const droppedQuery = (id: string, { range, from, to }: LogSearch) =>
  queryOptions({
    queryKey: ['dropped', id, range, from, to],
    queryFn: async ({ signal }) => {
      const query = { ...spanOf({ range, from, to }), buckets: 1 };
      const data = await dataOf(api.get('/projects/:id/invocations/histogram', { params: { id }, query, signal }));
      return data.dropped;
    },
    staleTime: DROPPED_STALE_MS,
  });

/** The last failure of a day, or null. */
export const lastFailureQuery = (id: string) =>
  queryOptions({
    queryKey: ['last-failure', id],
    queryFn: async ({ signal }) => {
      const query = { ...spanOf({ range: '24h' }), outcome: 'failed', limit: 1 };
      const { items } = await dataOf(api.get('/projects/:id/invocations', { params: { id }, query, signal }));
      return items[0] ?? null;
    },
    refetchInterval: LOOK_MS,
  });

const readInvocation = (id: string, invocationId: string, signal: AbortSignal) =>
  dataOf(api.get('/projects/:id/invocations/:invocationId', { params: { id, invocationId }, signal }));

/** More about a request: query, headers, client, sizes. */
export type RequestDetails = NonNullable<Awaited<ReturnType<typeof readInvocation>>['request']>;

/** An invocation with its request and its lines. */
export const invocationQuery = (id: string, invocationId: string) =>
  queryOptions({
    queryKey: ['invocation', id, invocationId],
    queryFn: ({ signal }) => readInvocation(id, invocationId, signal),
    staleTime: 60_000,
  });

/** Path of the live stream. @param after the last known line; without it, the stream begins with the next line. */
export function streamPath(id: string, asked: LogSearch, after?: string): string {
  const words = Object.entries({ ...shared(asked), ...ofLines(asked), ...(after !== undefined && { after }) });
  const query = new URLSearchParams(words.map(([name, value]) => [name, String(value)])).toString();
  return `/projects/${encodeURIComponent(id)}/logs/stream${query === '' ? '' : `?${query}`}`;
}

const readTraces = (id: string, asked: LogSearch, cursor?: string, signal?: AbortSignal) => {
  // The filters `trace` and `kind` do not apply to traces.
  const narrowed = shared({ ...asked, trace: undefined, kind: undefined });
  return dataOf(
    api.get('/projects/:id/traces', {
      params: { id },
      query: {
        ...spanOf(asked),
        ...narrowed,
        ...(asked.search !== undefined && { search: asked.search }),
        ...(asked.outcome !== undefined && { failed: true }),
        ...(asked.status !== undefined && { status: asked.status }),
        ...(asked.least !== undefined && { msMin: asked.least }),
        limit: 100,
        ...(cursor !== undefined && { cursor }),
      },
      ...(signal && { signal }),
    }),
  );
};

const HOUR_MS = 3_600_000;

/** Traced calls of the last hour between a project and others. */
export const callsQuery = (id: string) =>
  queryOptions({
    queryKey: ['calls', id] as const,
    refetchInterval: 60_000,
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/calls', {
          params: { id },
          query: { from: new Date(Date.now() - HOUR_MS).toISOString() },
          signal,
        }),
      ),
  });

/** A trace, described by its root span. */
export type TraceSummary = Awaited<ReturnType<typeof readTraces>>['items'][number];

export const tracesQuery = (id: string, asked: LogSearch) => ({
  queryKey: ['traces', id, { ...asked, invocation: undefined }] as const,
  queryFn: ({ signal, pageParam }: { signal: AbortSignal; pageParam: string | undefined }) =>
    readTraces(id, asked, pageParam, signal),
});

const readTrace = (id: string, traceId: string, signal?: AbortSignal) =>
  dataOf(api.get('/projects/:id/traces/:traceId', { params: { id, traceId }, ...(signal && { signal }) }));

export type Trace = Awaited<ReturnType<typeof readTrace>>;
export type Span = Trace['spans'][number];

/** A trace with its spans and lines; it grows while work continues. */
export const traceQuery = (id: string, traceId: string) =>
  queryOptions({ queryKey: ['trace', id, traceId], queryFn: ({ signal }) => readTrace(id, traceId, signal) });

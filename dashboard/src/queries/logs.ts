// Stored log lines, invocations and traces of a project, with their filters.
import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client.ts';

/** Time ranges that end now. */
export const logRanges = {
  '15m': ['15 minutes', 15 * 60_000],
  '1h': ['hour', 3_600_000],
  '24h': ['24 hours', 86_400_000],
  '7d': ['7 days', 7 * 86_400_000],
} as const;
export type LogRange = keyof typeof logRanges;

export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

export const statusClasses = ['2xx', '3xx', '4xx', '5xx'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** Triggers of an invocation. */
export const kinds = { http: 'Requests', queue: 'Queues', timer: 'Timers', cron: 'Schedules', workflow: 'Workflows' };
export type Kind = keyof typeof kinds;

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Search parameters. */
export interface LogSearch {
  readonly range?: LogRange | undefined;
  /** ISO times, if a part of the histogram is selected. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly level?: Level | undefined;
  readonly search?: string | undefined;
  readonly route?: string | undefined;
  readonly branch?: string | undefined;
  readonly deployment?: string | undefined;
  readonly trace?: string | undefined;
  /** Requests: only failures. */
  readonly outcome?: 'failed' | undefined;
  readonly order?: 'cpu' | 'wall' | undefined;
  /** Traces: status class. `least` is the minimum duration in ms. */
  readonly status?: StatusClass | undefined;
  readonly least?: number | undefined;
  readonly kind?: Kind | undefined;
  /** Requests: the HTTP method. */
  readonly method?: (typeof methods)[number] | undefined;
  /** Lines: new ones are shown as they arrive. */
  readonly live?: boolean | undefined;
  /** The open invocation. */
  readonly invocation?: string | undefined;
}

const RANGE_STEP_MS = 10_000;
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

const ofLines = ({ level, search }: LogSearch) => ({
  ...(level !== undefined && { level }),
  ...(search !== undefined && { search }),
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

/** An invocation with its lines. */
export const invocationQuery = (id: string, invocationId: string) =>
  queryOptions({
    queryKey: ['invocation', id, invocationId],
    queryFn: ({ signal }) =>
      dataOf(api.get('/projects/:id/invocations/:invocationId', { params: { id, invocationId }, signal })),
    staleTime: 60_000,
  });

/** Path of the live stream. @param after the last known line; without it, the stream begins with the next one. */
export function streamPath(id: string, asked: LogSearch, after?: string): string {
  const words = Object.entries({ ...shared(asked), ...ofLines(asked), ...(after !== undefined && { after }) });
  const query = new URLSearchParams(words.map(([name, value]) => [name, String(value)])).toString();
  return `/projects/${encodeURIComponent(id)}/logs/stream${query === '' ? '' : `?${query}`}`;
}

const readTraces = (id: string, asked: LogSearch, cursor?: string, signal?: AbortSignal) => {
  // These filters apply to lines and requests only.
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

/** Changes search parameters; undefined removes one. */
export type Narrow = (change: LogSearch, isReplacing?: boolean) => void;

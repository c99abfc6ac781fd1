// Search parameters of logs, requests and traces, and the options of their filters.

/** The time ranges to choose from; each ends now. */
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
export const kinds = {
  http: 'Requests',
  object: 'Objects',
  queue: 'Queues',
  timer: 'Timers',
  cron: 'Schedules',
  workflow: 'Workflows',
};
export type Kind = keyof typeof kinds;

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Search parameters. */
export interface LogSearch {
  readonly range?: LogRange | undefined;
  /** ISO times of the selected part of the histogram, if any. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly level?: Level | undefined;
  readonly search?: string | undefined;
  readonly route?: string | undefined;
  readonly branch?: string | undefined;
  readonly deployment?: string | undefined;
  readonly trace?: string | undefined;
  /** Whether the list of requests shows only failures. */
  readonly outcome?: 'failed' | undefined;
  readonly order?: 'cpu' | 'wall' | undefined;
  /** Traces: status class. `least` is the minimum duration in ms. */
  readonly status?: StatusClass | undefined;
  readonly least?: number | undefined;
  readonly kind?: Kind | undefined;
  /** The HTTP method, as a filter of requests. */
  readonly method?: (typeof methods)[number] | undefined;
  /** Whether the list of lines shows new lines as they arrive. */
  readonly live?: boolean | undefined;
  /** The open invocation. */
  readonly invocation?: string | undefined;
}

/** Changes search parameters; undefined removes a parameter. */
export type Narrow = (change: LogSearch, isReplacing?: boolean) => void;

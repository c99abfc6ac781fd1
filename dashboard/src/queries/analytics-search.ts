// Search parameters of analytics, and the orders of its routes.
import type { LogRange } from './log-search.ts';
import type { Kind } from './usage-search.ts';

/** Sort orders of routes, descending. */
export const routeOrders = {
  requests: 'Most requests',
  errors: 'Most failures',
  latency: 'Slowest',
  cpu: 'Most CPU',
} as const;
export type RouteOrder = keyof typeof routeOrders;

/** Search parameters. */
export interface AnalyticsSearch {
  readonly range?: LogRange | undefined;
  /** ISO times, if a custom period is selected. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly kind?: Kind | undefined;
  readonly route?: string | undefined;
  readonly deployment?: string | undefined;
  /** A second deployment to compare with. */
  readonly compare?: string | undefined;
  readonly order?: RouteOrder | undefined;
}

/** Changes search parameters; undefined removes a parameter. */
export type NarrowAnalytics = (change: AnalyticsSearch) => void;

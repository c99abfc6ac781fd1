// Routes of analytics and their search parameters.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import type { UsageSearch } from '../pages/analytics/usage.tsx';
import { routeOrders, type AnalyticsSearch } from '../queries/analytics-search.ts';
import { logRanges } from '../queries/log-search.ts';
import { kinds, ranges } from '../queries/usage-search.ts';
import { projectRoute } from './root.ts';

const has = <Name extends string>(table: Readonly<Record<Name, unknown>>, name: unknown): name is Name =>
  typeof name === 'string' && Object.hasOwn(table, name);
const isTime = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value));

/** Validates search parameters. */
export const usageSearch = ({ range, kind, route }: Record<string, unknown>): UsageSearch => ({
  ...(has(ranges, range) && { range }),
  ...(kinds.some((one) => one === kind) && { kind: kind as (typeof kinds)[number] }),
  ...(typeof route === 'string' && { route }),
});

/** Validates search parameters; invalid ones are dropped. */
function analyticsSearch(given: Record<string, unknown>): AnalyticsSearch {
  const { range, from, to, kind, order } = given;
  const texts = (['route', 'deployment', 'compare'] as const).flatMap((name) => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
  });
  return {
    ...Object.fromEntries(texts),
    ...(has(logRanges, range) && { range }),
    ...(isTime(from) && isTime(to) && { from, to }),
    ...(kinds.some((one) => one === kind) && { kind: kind as (typeof kinds)[number] }),
    ...(has(routeOrders, order) && { order }),
  };
}

const analyticsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/analytics',
  validateSearch: analyticsSearch,
  component: lazyRouteComponent(() => import('../pages/analytics/analytics.tsx'), 'AnalyticsPage'),
});

const usageRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/analytics/usage',
  validateSearch: usageSearch,
  component: lazyRouteComponent(() => import('../pages/analytics/usage-page.tsx'), 'UsagePage'),
});

export const analyticsRoutes = [analyticsRoute, usageRoute] as const;

// Routes of analytics and their search parameters.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import type { UsageSearch } from '../pages/analytics/usage.tsx';
import { kinds, ranges } from '../queries/usage.ts';
import { projectRoute } from './root.ts';

/** Validates search parameters. */
export const usageSearch = ({ range, kind, route }: Record<string, unknown>): UsageSearch => ({
  ...(typeof range === 'string' && Object.hasOwn(ranges, range) && { range: range as keyof typeof ranges }),
  ...(kinds.some((one) => one === kind) && { kind: kind as (typeof kinds)[number] }),
  ...(typeof route === 'string' && { route }),
});

export const analyticsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/analytics',
  validateSearch: usageSearch,
  component: lazyRouteComponent(() => import('../pages/analytics/analytics.tsx'), 'AnalyticsPage'),
});

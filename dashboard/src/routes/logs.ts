// Addresses of lines and requests, and what they hold.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { levels, logRanges, type LogSearch } from '../queries/logs.ts';
import { projectRoute } from './root.ts';

const words = ['search', 'route', 'branch', 'deployment', 'trace', 'invocation'] as const;
const isTime = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value));

function logSearch(given: Record<string, unknown>): LogSearch {
  const { range, level, from, to, outcome, order } = given;
  const texts = words.flatMap((name) => {
    const value = given[name];
    return (typeof value === 'string' || typeof value === 'number') && value !== ''
      ? [[name, String(value)] as const]
      : [];
  });
  return {
    ...Object.fromEntries(texts),
    ...(typeof range === 'string' && Object.hasOwn(logRanges, range) && { range: range as keyof typeof logRanges }),
    ...(levels.some((one) => one === level) && { level: level as (typeof levels)[number] }),
    ...(isTime(from) && isTime(to) && { from, to }),
    ...(outcome === 'failed' && { outcome }),
    ...((order === 'cpu' || order === 'wall') && { order }),
  };
}

const linesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/logs',
  validateSearch: logSearch,
  component: lazyRouteComponent(() => import('../pages/logs/lines.tsx'), 'LogsLinesPage'),
});

const requestsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/logs/requests',
  validateSearch: logSearch,
  component: lazyRouteComponent(() => import('../pages/logs/requests.tsx'), 'LogsRequestsPage'),
});

export const logRoutes = [linesRoute, requestsRoute] as const;

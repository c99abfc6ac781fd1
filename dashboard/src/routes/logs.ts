// Routes of logs, requests and traces, and their search parameters.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { kinds, levels, logRanges, methods, statusClasses, type LogSearch } from '../queries/log-search.ts';
import { projectRoute } from './root.ts';

const words = ['search', 'route', 'branch', 'deployment', 'trace', 'invocation'] as const;
const isTime = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value));

function logSearch(given: Record<string, unknown>): LogSearch {
  const { range, level, from, to, outcome, order, status, least, kind, method, live } = given;
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
    ...(statusClasses.some((one) => one === status) && { status: status as (typeof statusClasses)[number] }),
    ...(typeof least === 'number' && least > 0 && { least }),
    ...(typeof kind === 'string' && Object.hasOwn(kinds, kind) && { kind: kind as keyof typeof kinds }),
    ...(methods.some((one) => one === method) && { method: method as (typeof methods)[number] }),
    ...(live === true && { live }),
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

const tracesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/logs/traces',
  validateSearch: logSearch,
  component: lazyRouteComponent(() => import('../pages/logs/traces.tsx'), 'LogsTracesPage'),
});

const traceRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/logs/traces/$trace',
  validateSearch: ({ span }: Record<string, unknown>): { readonly span?: string } =>
    // A span ID of digits only is parsed as a number.
    typeof span === 'string' || typeof span === 'number' ? { span: String(span) } : {},
  component: lazyRouteComponent(() => import('../pages/logs/trace.tsx'), 'TracePage'),
});

export const logRoutes = [linesRoute, requestsRoute, tracesRoute, traceRoute] as const;

// Routes of `platform dev`: requests, logs, configuration and bindings, at the same paths as in production.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { projectRoute, rootRoute } from './root.ts';
import { resourceRoutes } from './storage.ts';

/** Filters of requests and logs. */
export interface DevSearch {
  /** `all`, a kind of event, or requests. */
  readonly kind?: string | undefined;
  readonly search?: string | undefined;
  readonly failed?: boolean | undefined;
  readonly level?: string | undefined;
  /** Number of the open request. */
  readonly request?: number | undefined;
}

function devSearch(given: Record<string, unknown>): DevSearch {
  const { kind, search, failed, level, request } = given;
  return {
    ...(typeof kind === 'string' && kind !== '' && { kind }),
    ...((typeof search === 'string' || typeof search === 'number') && search !== '' && { search: String(search) }),
    ...(failed === true && { failed }),
    ...(typeof level === 'string' && level !== '' && { level }),
    ...(typeof request === 'number' && Number.isSafeInteger(request) && { request }),
  };
}

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../pages/dev/home.tsx'), 'DevHome'),
});

const requestsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/',
  validateSearch: devSearch,
  component: lazyRouteComponent(() => import('../pages/dev/requests.tsx'), 'DevRequestsPage'),
});

const linesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/logs',
  validateSearch: devSearch,
  component: lazyRouteComponent(() => import('../pages/dev/lines.tsx'), 'DevLogsPage'),
});

const configurationRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../pages/dev/configuration.tsx'), 'DevConfigurationPage'),
});

/** All routes of `platform dev`; created only in that mode. */
export const devTree = () =>
  rootRoute.addChildren([
    homeRoute,
    projectRoute.addChildren([requestsRoute, linesRoute, configurationRoute, ...resourceRoutes]),
  ]);

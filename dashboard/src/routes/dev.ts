// Addresses under `platform dev`: the project's requests, lines and configuration, and what its bindings hold, at the
// addresses that production has.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { projectRoute, rootRoute } from './root.ts';
import { resourceRoutes } from './storage.ts';

/** Filters of requests and lines. */
export interface DevSearch {
  /** `all`, a kind of event, or requests. */
  readonly kind?: string | undefined;
  readonly search?: string | undefined;
  readonly failed?: boolean | undefined;
  readonly level?: string | undefined;
  /** Number of the open one. */
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

/** All addresses under `platform dev`, made where they are those that count. */
export const devTree = () =>
  rootRoute.addChildren([
    homeRoute,
    projectRoute.addChildren([requestsRoute, linesRoute, configurationRoute, ...resourceRoutes]),
  ]);

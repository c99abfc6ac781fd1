// Routes of `platform dev`: requests, logs, configuration and bindings, at the same paths as in production.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { devSearch } from '../queries/dev-search.ts';
import { projectRoute, rootRoute } from './root.ts';
import { resourceRoutes } from './storage.ts';

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

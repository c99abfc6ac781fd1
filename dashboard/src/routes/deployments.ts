// Routes of the overview, deployments and previews. Filters are search parameters.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { projectRoute, rootRoute } from './root.ts';

const states = ['queued', 'building', 'uploading', 'migrating', 'success', 'failure', 'timeout', 'canceled'] as const;

/** Filters of the list of deployments. */
export interface DeploymentSearch {
  readonly branch?: string | undefined;
  readonly status?: (typeof states)[number] | undefined;
  readonly target?: 'production' | 'preview' | undefined;
}

const overviewRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../pages/project/overview.tsx'), 'OverviewPage'),
});

const deploymentsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/deployments',
  validateSearch: ({ branch, status, target }: Record<string, unknown>): DeploymentSearch => ({
    ...(typeof branch === 'string' && branch !== '' && { branch }),
    ...(states.some((one) => one === status) && { status: status as (typeof states)[number] }),
    ...((target === 'production' || target === 'preview') && { target }),
  }),
  component: lazyRouteComponent(() => import('../pages/deployments/deployments.tsx'), 'DeploymentsPage'),
});

const deploymentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deployments/$deployment',
  component: lazyRouteComponent(() => import('../pages/deployments/deployment.tsx'), 'DeploymentPage'),
});

const previewsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/previews',
  component: lazyRouteComponent(() => import('../pages/deployments/previews.tsx'), 'PreviewsPage'),
});

export const deploymentRoutes = {
  ofProject: [overviewRoute, deploymentsRoute, previewsRoute] as const,
  ofRoot: [deploymentRoute] as const,
};

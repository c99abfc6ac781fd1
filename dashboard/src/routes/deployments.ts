// Routes of the overview, deployments and previews.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { deploymentSearch } from '../queries/deployment-search.ts';
import { projectRoute, rootRoute } from './root.ts';

const overviewRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../pages/project/overview.tsx'), 'OverviewPage'),
});

const deploymentsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/deployments',
  validateSearch: deploymentSearch,
  component: lazyRouteComponent(() => import('../pages/deployments/deployments.tsx'), 'DeploymentsPage'),
});

const offered = ['promote', 'redeploy'] as const;

const deploymentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/deployments/$deployment',
  // An action whose confirmation opens with the page.
  validateSearch: ({ action }: Record<string, unknown>): { readonly action?: (typeof offered)[number] } =>
    offered.some((one) => one === action) ? { action: action as (typeof offered)[number] } : {},
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

// The router. Each area has a file in this folder; the code of a page is loaded when the page is first opened or its
// link is hovered.
import { createRouter } from '@tanstack/react-router';
import { PageFailure } from '../shell/failures.tsx';
import { mode } from '../state/mode.ts';
import { projectAiRoute } from './ai.ts';
import { deploymentRoutes } from './deployments.ts';
import { devTree } from './dev.ts';
import { logRoutes } from './logs.ts';
import { organizationRoutes } from './organization.ts';
import { homeRoute, newProjectRoute, projectRoute, rootRoute } from './root.ts';
import { settingsRoutes } from './settings.ts';
import { resourceRoutes } from './storage.ts';
import { analyticsRoutes } from './usage.ts';

const productionTree = () =>
  rootRoute.addChildren([
    homeRoute,
    newProjectRoute,
    projectRoute.addChildren([
      ...deploymentRoutes.ofProject,
      ...settingsRoutes,
      ...logRoutes,
      ...resourceRoutes,
      ...analyticsRoutes,
      projectAiRoute,
    ]),
    ...deploymentRoutes.ofRoot,
    ...organizationRoutes,
  ]);

/** Links are type-checked against production's routes, which include those of dev. */
const routeTree = mode === 'dev' ? (devTree() as unknown as ReturnType<typeof productionTree>) : productionTree();

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  // Error pages are rendered inside the shell, so that navigation keeps working.
  defaultErrorComponent: PageFailure,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

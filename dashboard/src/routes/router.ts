// All addresses of the application. Each area has a file beside this one; each page is loaded when it is first opened,
// or when the pointer comes to its link.
import { createRouter } from '@tanstack/react-router';
import { PageFailure } from '../shell/failures.tsx';
import { mode } from '../mode.ts';
import { projectAiRoute } from './ai.ts';
import { deploymentRoutes } from './deployments.ts';
import { devTree } from './dev.ts';
import { logRoutes } from './logs.ts';
import { organizationRoutes } from './organization.ts';
import { homeRoute, newProjectRoute, projectRoute, rootRoute } from './root.ts';
import { settingsRoutes } from './settings.ts';
import { resourceRoutes } from './storage.ts';
import { analyticsRoute } from './usage.ts';

const productionTree = () =>
  rootRoute.addChildren([
    homeRoute,
    newProjectRoute,
    projectRoute.addChildren([
      ...deploymentRoutes.ofProject,
      ...settingsRoutes,
      ...logRoutes,
      ...resourceRoutes,
      analyticsRoute,
      projectAiRoute,
    ]),
    ...deploymentRoutes.ofRoot,
    ...organizationRoutes,
  ]);

/** Links are checked by production's addresses: those of dev are among them. */
const routeTree = mode === 'dev' ? (devTree() as unknown as ReturnType<typeof productionTree>) : productionTree();

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  // In the shell, which stays: the way out of a page that broke.
  defaultErrorComponent: PageFailure,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

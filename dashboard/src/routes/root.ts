// Parent routes: the shell, and within it a project. Pages add their routes below the parent routes.
import { createRootRoute, createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { newProjectSearch } from '../queries/new-project-search.ts';
import { NotFoundPage, PageFailure } from '../shell/failures.tsx';
import { Shell } from '../shell/shell.tsx';

export const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  errorComponent: PageFailure,
});

/** Parent of a project's pages; `$project` is its name or ID. */
export const projectRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/projects/$project',
});

export const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../pages/projects/projects.tsx'), 'ProjectsPage'),
});

export const newProjectRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/new',
  validateSearch: newProjectSearch,
  component: lazyRouteComponent(() => import('../pages/projects/new-project.tsx'), 'NewProjectPage'),
});

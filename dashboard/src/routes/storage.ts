// Routes of bindings: storage, queues and jobs, users.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import {
  branchSearch,
  databaseSearch,
  listSearch,
  queueSearch,
  userSearch,
  workflowSearch,
} from '../queries/resource-search.ts';
import type { Kind } from '#core/bindings/kinds.ts';
import { projectRoute } from './root.ts';

const storageRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage',
  validateSearch: branchSearch,
  component: lazyRouteComponent(() => import('../pages/storage/areas.tsx'), 'StoragePage'),
});

const databaseRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/databases/$binding',
  validateSearch: databaseSearch,
  component: lazyRouteComponent(() => import('../pages/storage/databases.tsx'), 'DatabasesPage'),
});

const stateRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/state/$binding',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/storage/state.tsx'), 'StatePage'),
});

const filesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/files/$binding',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/storage/files.tsx'), 'FilesPage'),
});

const cacheRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/caches/$binding',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/storage/caches.tsx'), 'CachesPage'),
});

const sandboxRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/sandboxes/$binding',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/storage/sandboxes.tsx'), 'SandboxesPage'),
});

const objectsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/objects/$binding',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/storage/objects.tsx'), 'ObjectsPage'),
});

const jobsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs',
  validateSearch: branchSearch,
  component: lazyRouteComponent(() => import('../pages/storage/areas.tsx'), 'JobsPage'),
});

const queueRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/queues/$binding',
  validateSearch: queueSearch,
  component: lazyRouteComponent(() => import('../pages/jobs/queues.tsx'), 'QueuesPage'),
});

const workflowRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/workflows/$binding',
  validateSearch: workflowSearch,
  component: lazyRouteComponent(() => import('../pages/jobs/workflows.tsx'), 'WorkflowsPage'),
});

const agentRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/agents/$binding',
  validateSearch: workflowSearch,
  component: lazyRouteComponent(() => import('../pages/jobs/workflows.tsx'), 'AgentsPage'),
});

const timerRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/timers/$binding',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/jobs/timers.tsx'), 'TimersPage'),
});

const scheduleRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/schedules',
  validateSearch: branchSearch,
  component: lazyRouteComponent(() => import('../pages/jobs/schedules.tsx'), 'SchedulesPage'),
});

const usersRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/users',
  validateSearch: userSearch,
  component: lazyRouteComponent(() => import('../pages/users/users.tsx'), 'UsersPage'),
});

/** The page of each kind; a kind without a page is a type error. */
const byKind = {
  db: databaseRoute,
  state: stateRoute,
  fs: filesRoute,
  cache: cacheRoute,
  sandbox: sandboxRoute,
  queue: queueRoute,
  workflow: workflowRoute,
  timer: timerRoute,
  auth: usersRoute,
  // Services and pools have no data to show.
  service: storageRoute,
  hyperdrive: storageRoute,
} satisfies Readonly<Record<Kind, object>>;

export const resourceRoutes = [
  storageRoute,
  byKind.db,
  byKind.state,
  byKind.fs,
  byKind.cache,
  byKind.sandbox,
  objectsRoute,
  jobsRoute,
  byKind.queue,
  byKind.workflow,
  agentRoute,
  byKind.timer,
  scheduleRoute,
  byKind.auth,
] as const;

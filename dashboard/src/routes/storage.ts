// Routes of bindings: storage, queues and jobs, users. Selection and filters are search parameters.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { projectRoute } from './root.ts';

interface Branched {
  readonly branch?: string | undefined;
}

const databaseViews = ['columns', 'sql', 'slow', 'copies', 'migrations'] as const;

/** Search parameters of a database. */
export interface DatabaseSearch extends Branched {
  readonly view?: (typeof databaseViews)[number] | undefined;
  readonly table?: string | undefined;
  readonly offset?: number | undefined;
  readonly order?: string | undefined;
  readonly descending?: boolean | undefined;
  readonly column?: string | undefined;
  readonly search?: string | undefined;
  /** Index of the open row on the page. */
  readonly row?: number | undefined;
}

/** Search parameters of a list. */
export interface ListSearch extends Branched {
  readonly prefix?: string | undefined;
  /** The open entry. */
  readonly key?: string | undefined;
}

/** Search parameters of a queue. */
export interface QueueSearch extends Branched {
  readonly list?: 'waiting' | undefined;
  readonly message?: string | undefined;
}

/** Search parameters of a workflow. */
export interface WorkflowSearch extends Branched {
  readonly status?: string | undefined;
  readonly run?: string | undefined;
}

/** Search parameters of users. */
export interface UserSearch extends Branched {
  readonly email?: string | undefined;
  readonly user?: string | undefined;
}

type Given = Record<string, unknown>;

function texts<Name extends string>(given: Given, names: readonly Name[]): { readonly [Key in Name]?: string } {
  const found: { [Key in Name]?: string } = {};
  for (const name of names) {
    const value = given[name];
    // A value of digits only is parsed as a number.
    if (typeof value === 'number') found[name] = String(value);
    else if (typeof value === 'string' && value !== '') found[name] = value;
  }
  return found;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

const storageRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage',
  validateSearch: (given: Given): Branched => texts(given, ['branch']),
  component: lazyRouteComponent(() => import('../pages/storage/areas.tsx'), 'StoragePage'),
});

const databaseRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/storage/databases/$binding',
  validateSearch: (given: Given): DatabaseSearch => ({
    ...texts(given, ['branch', 'table', 'order', 'column', 'search']),
    ...(databaseViews.some((one) => one === given['view']) && { view: given['view'] as DatabaseSearch['view'] }),
    ...(count(given['offset']) && { offset: count(given['offset']) }),
    ...(count(given['row']) !== undefined && { row: count(given['row']) }),
    ...(given['descending'] === true && { descending: true }),
  }),
  component: lazyRouteComponent(() => import('../pages/storage/databases.tsx'), 'DatabasesPage'),
});

const listSearch = (given: Given): ListSearch => texts(given, ['branch', 'prefix', 'key']);

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
  validateSearch: (given: Given): ListSearch => texts(given, ['branch', 'prefix']),
  component: lazyRouteComponent(() => import('../pages/storage/sandboxes.tsx'), 'SandboxesPage'),
});

const jobsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs',
  validateSearch: (given: Given): Branched => texts(given, ['branch']),
  component: lazyRouteComponent(() => import('../pages/storage/areas.tsx'), 'JobsPage'),
});

const queueRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/queues/$binding',
  validateSearch: (given: Given): QueueSearch => ({
    ...texts(given, ['branch', 'message']),
    ...(given['list'] === 'waiting' && { list: 'waiting' }),
  }),
  component: lazyRouteComponent(() => import('../pages/jobs/queues.tsx'), 'QueuesPage'),
});

const workflowRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/workflows/$binding',
  validateSearch: (given: Given): WorkflowSearch => texts(given, ['branch', 'status', 'run']),
  component: lazyRouteComponent(() => import('../pages/jobs/workflows.tsx'), 'WorkflowsPage'),
});

const agentRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/jobs/agents/$binding',
  validateSearch: (given: Given): WorkflowSearch => texts(given, ['branch', 'status', 'run']),
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
  validateSearch: (given: Given): Branched => texts(given, ['branch']),
  component: lazyRouteComponent(() => import('../pages/jobs/schedules.tsx'), 'SchedulesPage'),
});

const usersRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/users',
  validateSearch: (given: Given): UserSearch => texts(given, ['branch', 'email', 'user']),
  component: lazyRouteComponent(() => import('../pages/users/users.tsx'), 'UsersPage'),
});

export const resourceRoutes = [
  storageRoute,
  databaseRoute,
  stateRoute,
  filesRoute,
  cacheRoute,
  sandboxRoute,
  jobsRoute,
  queueRoute,
  workflowRoute,
  agentRoute,
  timerRoute,
  scheduleRoute,
  usersRoute,
] as const;

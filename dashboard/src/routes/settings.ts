// Routes of a project's settings.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { alertSearch } from '../queries/alert-search.ts';
import { projectRoute } from './root.ts';

const scopes = ['production', 'preview', 'branch', 'dev'] as const;

interface VariableSearch {
  readonly search?: string | undefined;
  readonly scope?: (typeof scopes)[number] | undefined;
  /** Whether the form for a new variable is open. */
  readonly new?: true | undefined;
}

const generalRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../pages/settings/general.tsx'), 'GeneralPage'),
});

const variablesRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/variables',
  validateSearch: ({ search, scope, new: isNew }: Record<string, unknown>): VariableSearch => ({
    ...(typeof search === 'string' && search !== '' && { search }),
    ...(scopes.some((one) => one === scope) && { scope: scope as (typeof scopes)[number] }),
    ...(isNew === true && { new: true }),
  }),
  component: lazyRouteComponent(() => import('../pages/settings/variables.tsx'), 'VariablesPage'),
});

const domainsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/domains',
  component: lazyRouteComponent(() => import('../pages/settings/domains.tsx'), 'DomainsPage'),
});

const gitRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/git',
  component: lazyRouteComponent(() => import('../pages/settings/git.tsx'), 'GitPage'),
});

const drainsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/drains',
  component: lazyRouteComponent(() => import('../pages/settings/drains.tsx'), 'DrainsPage'),
});

const alertsRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/alerts',
  validateSearch: alertSearch,
  component: lazyRouteComponent(() => import('../pages/alerts/alerts.tsx'), 'AlertsPage'),
});

const hooksRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/hooks',
  component: lazyRouteComponent(() => import('../pages/settings/hooks.tsx'), 'HooksPage'),
});

const collectorRoute = createRoute({
  getParentRoute: () => projectRoute,
  path: '/settings/collector',
  component: lazyRouteComponent(() => import('../pages/settings/collector.tsx'), 'CollectorPage'),
});

export const settingsRoutes = [
  generalRoute,
  variablesRoute,
  domainsRoute,
  gitRoute,
  hooksRoute,
  drainsRoute,
  alertsRoute,
  collectorRoute,
] as const;

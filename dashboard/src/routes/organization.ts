// Routes of organizations, the account and the operator.
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { alertSearch } from '../queries/alert-search.ts';
import { routeOrders, type RouteOrder } from '../queries/analytics-search.ts';
import { aiSearch } from './ai.ts';
import { rootRoute } from './root.ts';
import { usageSearch } from './usage.ts';

const organizationRoute = createRoute({ getParentRoute: () => rootRoute, path: '/orgs/$org' });

/** The order of a list of projects. */
const orderSearch = ({ order }: Record<string, unknown>): { readonly order?: RouteOrder | undefined } =>
  typeof order === 'string' && Object.hasOwn(routeOrders, order) ? { order: order as RouteOrder } : {};

const overviewRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/',
  validateSearch: orderSearch,
  component: lazyRouteComponent(
    () => import('../pages/organization/organization-overview.tsx'),
    'OrganizationOverviewPage',
  ),
});

const membersRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/members',
  component: lazyRouteComponent(() => import('../pages/organization/members.tsx'), 'MembersPage'),
});

const tokensRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/tokens',
  component: lazyRouteComponent(() => import('../pages/organization/tokens.tsx'), 'OrganizationTokensPage'),
});

const webhooksRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/webhooks',
  validateSearch: ({ webhook }: Record<string, unknown>): { webhook?: string | undefined } =>
    typeof webhook === 'string' ? { webhook } : {},
  component: lazyRouteComponent(() => import('../pages/organization/webhooks.tsx'), 'WebhooksPage'),
});

const gitHostsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/git-hosts',
  validateSearch: ({ from }: Record<string, unknown>): { readonly from?: 'setup' | undefined } =>
    from === 'setup' ? { from } : {},
  component: lazyRouteComponent(() => import('../pages/organization/git-hosts.tsx'), 'GitHostsPage'),
});

/** Filters of the audit log, and the open event. */
interface AuditSearch {
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  readonly days?: string | undefined;
  readonly event?: string | undefined;
}

const auditRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/audit',
  validateSearch: (search: Record<string, unknown>): AuditSearch =>
    Object.fromEntries(
      ['actor', 'subject', 'days', 'event'].flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' || typeof value === 'number' ? [[name, String(value)]] : [];
      }),
    ),
  component: lazyRouteComponent(() => import('../pages/organization/audit.tsx'), 'AuditPage'),
});

const usageRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/usage',
  validateSearch: usageSearch,
  component: lazyRouteComponent(() => import('../pages/organization/organization-usage.tsx'), 'OrganizationUsagePage'),
});

const aiRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/ai',
  validateSearch: aiSearch,
  component: lazyRouteComponent(() => import('../pages/ai/organization-ai.tsx'), 'OrganizationAiPage'),
});

const settingsRoute = createRoute({
  getParentRoute: () => organizationRoute,
  path: '/settings',
  component: lazyRouteComponent(
    () => import('../pages/organization/organization-settings.tsx'),
    'OrganizationSettingsPage',
  ),
});

const accountRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('../pages/account/account.tsx'), 'AccountPage'),
});

const healthRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/health',
  validateSearch: orderSearch,
  component: lazyRouteComponent(() => import('../pages/operator/health.tsx'), 'HealthPage'),
});

const backupsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/backups',
  component: lazyRouteComponent(() => import('../pages/operator/backups.tsx'), 'BackupsPage'),
});

const machinesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/machines',
  component: lazyRouteComponent(() => import('../pages/operator/machines.tsx'), 'MachinesPage'),
});

const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  component: lazyRouteComponent(() => import('../pages/setup/setup.tsx'), 'SetupPage'),
});

const mailRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/mail',
  component: lazyRouteComponent(() => import('../pages/operator/mail.tsx'), 'MailPage'),
});

const operatorAlertsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator/alerts',
  validateSearch: alertSearch,
  component: lazyRouteComponent(() => import('../pages/alerts/alerts.tsx'), 'OperatorAlertsPage'),
});

export const organizationRoutes = [
  organizationRoute.addChildren([
    overviewRoute,
    membersRoute,
    usageRoute,
    aiRoute,
    tokensRoute,
    webhooksRoute,
    gitHostsRoute,
    auditRoute,
    settingsRoute,
  ]),
  accountRoute,
  healthRoute,
  machinesRoute,
  backupsRoute,
  mailRoute,
  setupRoute,
  operatorAlertsRoute,
] as const;

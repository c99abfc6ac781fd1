// Overview of an organization: alerts that fire, the requests of the last day, and the projects that are busiest, fail
// most, are slowest or use most CPU.
import { BarChartIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { EmptyState } from '../../components/notice.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import type { FullOrganization } from '../../queries/organization.ts';
import { usageQuery } from '../../queries/usage.ts';
import { firingQuery } from '../alerts/alert-calls.ts';
import { FiringNotice } from '../alerts/firing-notice.tsx';
import { Charts, Totals } from '../analytics/usage.tsx';
import { OrganizationPage } from './organization-page.tsx';
import { ProjectLoads } from './project-load.tsx';

export function OrganizationOverviewPage() {
  return (
    <OrganizationPage title="Overview">
      {(organization) => (
        <>
          <FiringAlerts id={organization.id} />
          <Overview organization={organization} />
        </>
      )}
    </OrganizationPage>
  );
}

function FiringAlerts({ id }: { readonly id: string }) {
  const { data } = useQuery(firingQuery(id));
  if (data === undefined) return null;
  const rules = data.items.map(({ ruleId, ...rule }) => ({ ...rule, id: ruleId }));
  return <FiringNotice total={data.total} rules={rules} showsProject />;
}

function Overview({ organization }: { readonly organization: FullOrganization }) {
  const { order = 'requests' } = useSearch({ from: '/orgs/$org/' });
  const navigate = useNavigate({ from: '/orgs/$org/' });
  const of = { organizationId: organization.id };
  const { data, error, refetch } = useQuery(usageQuery(of, 'day', { groupBy: 'project' }));
  if (data === undefined) return <Unloaded what="the overview" error={error} refetch={refetch} />;
  if (data.totals.invocations === 0)
    return (
      <EmptyState icon={<BarChartIcon />} title="No requests in the last 24 hours">
        The busiest and most failing projects of the organization appear here.
      </EmptyState>
    );
  return (
    <>
      <Totals usage={data} />
      <Charts of={of} range="day" kind="http" />
      <ProjectLoads
        title="Projects, last 24 hours"
        loads={data.items.map(({ projectId, ...item }) => ({
          ...item,
          projectId: projectId ?? '',
          cpuMs: item.cpuMs + item.hostCpuMs,
        }))}
        order={order}
        onOrder={(next) => void navigate({ search: { order: next } })}
      />
    </>
  );
}

// CPU, requests and storage of an organization.
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { projectsQuery } from '../../queries/account.ts';
import { UsageView } from '../analytics/usage.tsx';
import { OrganizationPage } from './organization-page.tsx';
import { OrganizationStorage } from './organization-storage.tsx';

export function OrganizationUsagePage() {
  const search = useSearch({ from: '/orgs/$org/usage' });
  const navigate = useNavigate({ from: '/orgs/$org/usage' });
  const { data: projects = [] } = useQuery(projectsQuery());
  const everywhere = useNavigate();
  const nameOf = (projectId: string): string => projects.find(({ id }) => id === projectId)?.name ?? projectId;
  return (
    <OrganizationPage title="Usage">
      {(organization) => (
        <>
          <UsageView
            of={{ organizationId: organization.id }}
            search={search}
            onSearch={(next) => void navigate({ search: next })}
            nameOf={nameOf}
            onOpen={({ projectId, route }) =>
              void everywhere({
                to: '/projects/$project/analytics/usage',
                params: { project: nameOf(projectId ?? '') },
                search: { ...search, route: route ?? '' },
              })
            }
          />
          <OrganizationStorage organization={organization} />
        </>
      )}
    </OrganizationPage>
  );
}

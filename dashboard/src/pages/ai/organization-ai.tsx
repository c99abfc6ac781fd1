// AI of an organization: usage, providers, model aliases, limits, keys.
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { projectsQuery } from '../../queries/account.ts';
import { aiSettingsQuery } from '../../queries/ai.ts';
import type { FullOrganization } from '../../queries/organization.ts';
import { isAdmin, OrganizationPage } from '../organization/organization-page.tsx';
import { DevTokens } from './dev-tokens.tsx';
import { AiKeys } from './keys.tsx';
import { ModelNames } from './model-names.tsx';
import { AiReadiness } from './readiness.tsx';
import { AiProviders } from './providers.tsx';
import { AiUsageView } from './ai-usage.tsx';
import { Unloaded } from '../../components/unloaded.tsx';

export function OrganizationAiPage() {
  const search = useSearch({ from: '/orgs/$org/ai' });
  const navigate = useNavigate({ from: '/orgs/$org/ai' });
  const { data: projects = [] } = useQuery(projectsQuery());
  const nameOf = (projectId: string): string => projects.find(({ id }) => id === projectId)?.name ?? projectId;
  return (
    <OrganizationPage title="AI">
      {(organization) => (
        <>
          <AiUsageView
            of={{ organizationId: organization.id }}
            search={search}
            onSearch={(next) => void navigate({ search: next })}
            groups={[
              ['project', 'Projects', nameOf],
              ['key', 'Calls by key', (id) => id],
            ]}
          />
          {isAdmin(organization) && <Settings organization={organization} />}
        </>
      )}
    </OrganizationPage>
  );
}

function Settings({ organization: { id } }: { readonly organization: FullOrganization }) {
  const { data, error, refetch } = useQuery(aiSettingsQuery(id));
  if (data === undefined) return <Unloaded what="the settings" error={error} refetch={refetch} />;
  return (
    <>
      <AiReadiness of={data.readiness} />
      <AiProviders id={id} providers={data.providers} />
      <ModelNames id={id} settings={data} />
      <AiKeys id={id} />
      <DevTokens id={id} />
    </>
  );
}

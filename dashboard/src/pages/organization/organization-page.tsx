// Layout of the organization pages: tabs and organization.
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Page } from '../../components/page.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { organizationQuery, type FullOrganization } from '../../queries/organization.ts';

interface OrganizationPageProps {
  /** Title of the tab. */
  readonly title: string;
  /** Buttons, or a function that returns the buttons for the loaded organization. */
  readonly actions?: ReactNode | ((organization: FullOrganization) => ReactNode);
  readonly children: (organization: FullOrganization) => ReactNode;
}

const tabs = [
  ['Overview', '/orgs/$org', null],
  ['Members', '/orgs/$org/members', null],
  ['Usage', '/orgs/$org/usage', null],
  ['AI', '/orgs/$org/ai', null],
  ['Tokens', '/orgs/$org/tokens', 'admin'],
  ['Webhooks', '/orgs/$org/webhooks', 'admin'],
  ['Git hosts', '/orgs/$org/git-hosts', 'admin'],
  ['Audit log', '/orgs/$org/audit', 'admin'],
  ['Settings', '/orgs/$org/settings', null],
] as const;

/** Whether the user is an owner or admin. Admin pages are hidden from others. */
export const isAdmin = (organization: FullOrganization): boolean =>
  organization.role === 'owner' || organization.role === 'admin';

export function OrganizationPage({ title, actions, children }: OrganizationPageProps) {
  const { org } = useParams({ from: '/orgs/$org' });
  const { data: organization, error, refetch } = useQuery(organizationQuery(org));
  const buttons = typeof actions === 'function' ? organization && actions(organization) : actions;
  return (
    <Page title={`${title}, ${organization?.name ?? org}`} heading={organization?.name ?? org} actions={buttons}>
      <TabLinks label="Organization">
        {tabs
          .filter(([, , role]) => role === null || organization === undefined || isAdmin(organization))
          .map(([name, to]) => (
            <TabLink key={to} to={to} params={{ org }} activeOptions={{ exact: true }}>
              {name}
            </TabLink>
          ))}
      </TabLinks>
      {organization === undefined ? (
        <Unloaded one="organization" error={error} refetch={refetch} />
      ) : (
        children(organization)
      )}
    </Page>
  );
}

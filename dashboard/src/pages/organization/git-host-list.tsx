// The Git hosts of the platform: connects an account by the OAuth application of a host; operators set the application
// and remove hosts.
import { useState } from 'react';
import { useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { OutsideLink } from '../../components/button.tsx';
import { MenuItem } from '../../components/menu.tsx';
import { Section } from '../../components/page.tsx';
import { State } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { noteDone } from '../../components/toast.ts';
import { gitHostsQuery } from '../../queries/git-accounts.ts';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RowMenu } from '../../records/row-menu.tsx';

interface Host {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly connectUrl: string | null;
  readonly oauth: { readonly redirectUrl: string; readonly scopes: string; readonly advice: string };
}

interface GitHostListProps {
  readonly organizationId: string;
  readonly isOperator: boolean;
  /** Path of the page to return to. */
  readonly returnTo: string;
}

export function GitHostList({ organizationId, isOperator, returnTo }: GitHostListProps) {
  const query = useQuery({ ...gitHostsQuery, select: (items) => items });
  const [edited, setEdited] = useState<Host | null>(null);
  if (query.data?.length === 0) return null;
  const columns: readonly Column<Host>[] = [
    { id: 'name', header: 'Git host', phone: 'first', cell: ({ name }) => <strong>{name}</strong> },
    { id: 'url', header: 'URL', cell: ({ url }) => <code>{url}</code> },
    {
      id: 'connect',
      header: 'Connect',
      isFitted: true,
      phone: 'first',
      cell: ({ connectUrl, name }) =>
        connectUrl === null ? (
          <State tone="neutral">By access token</State>
        ) : (
          <OutsideLink
            target="_self"
            size="small"
            aria-label={`Connect ${name}`}
            href={`${new URL(connectUrl).pathname}?${new URLSearchParams({ organization: organizationId, redirect: returnTo })}`}
          >
            Connect
          </OutsideLink>
        ),
    },
  ];
  return (
    <Section title="Hosts">
      <RecordList
        name="Git hosts"
        query={query}
        columns={columns}
        rowKey={({ id }) => id}
        empty={null}
        {...(isOperator && {
          actions: (host: Host) => (
            <RowMenu
              id={host.id}
              name={host.name}
              queryKey={gitHostsQuery.queryKey}
              deleted={`Git host ${host.name} removed`}
              onDelete={() => dataOf(api.delete('/git-hosts/:hostId', { params: { hostId: host.id }, query: {} }))}
            >
              <MenuItem onSelect={() => setEdited(host)}>OAuth application</MenuItem>
            </RowMenu>
          ),
        })}
      />
      {edited !== null && <Application host={edited} onClose={() => setEdited(null)} />}
    </Section>
  );
}

function Application({
  host: { id: hostId, name, oauth },
  onClose,
}: {
  readonly host: Host;
  readonly onClose: () => void;
}) {
  const scopes = oauth.scopes === '' ? '' : ` Scopes: ${oauth.scopes}.`;
  return (
    <RecordForm
      title={`OAuth application of ${name}`}
      description={`Create it ${oauth.advice}. Its redirect URL is ${oauth.redirectUrl}.${scopes}`}
      action="Save"
      failed="Could not save the OAuth application"
      queryKey={gitHostsQuery.queryKey}
      fields={{
        clientId: { label: 'Client ID', isCode: true, maxLength: 1000 },
        clientSecret: { label: 'Client secret', type: 'password', isCode: true, maxLength: 1000 },
      }}
      act={(body) => dataOf(api.put('/git-hosts/:hostId/oauth', { params: { hostId }, body }))}
      onDone={() => noteDone(`Members can connect ${name} without a token`)}
      onClose={onClose}
    />
  );
}

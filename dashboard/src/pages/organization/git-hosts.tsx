// Accounts on Git hosts of an organization: connect one by a click or an access token, replace its token, remove it.
// Operators add hosts here.
import { CodeIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { api, dataOf } from '../../api/client.ts';
import { ButtonLink } from '../../components/button.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { AddButton, type AddFormProps } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { RowMenu } from '../../records/row-menu.tsx';
import { userQuery } from '../../queries/account.ts';
import { gitAccountsQuery, gitHostsQuery } from '../../queries/git-accounts.ts';
import { GitHostList } from './git-host-list.tsx';
import { GitHubApp } from './github-app.tsx';
import { OrganizationPage } from './organization-page.tsx';

export function GitHostsPage() {
  const { data: user } = useQuery(userQuery);
  const { data: hosts = [] } = useQuery(gitHostsQuery);
  const { from } = useSearch({ from: '/orgs/$org/git-hosts' });
  return (
    <OrganizationPage
      title="Git hosts"
      actions={({ id }) => (
        <>
          {from === 'setup' && <ButtonLink to="/setup">Back to the setup</ButtonLink>}
          {user?.isOperator === true && (
            <AddButton label="Add Git host" isPrimary={hosts.length === 0}>
              {(form) => <NewHost {...form} />}
            </AddButton>
          )}
          {hosts.length > 0 && (
            <AddButton label="Connect account">{(form) => <NewAccount id={id} hosts={hosts} {...form} />}</AddButton>
          )}
        </>
      )}
    >
      {({ id, slug }) => (
        <>
          {user?.isOperator === true && (
            <GitHubApp returnTo={from === 'setup' ? '/setup' : `/orgs/${slug}/git-hosts`} />
          )}
          <GitHostList
            organizationId={id}
            isOperator={user?.isOperator === true}
            returnTo={`/orgs/${slug}/git-hosts`}
          />
          <Accounts id={id} hasHosts={hosts.length > 0} />
        </>
      )}
    </OrganizationPage>
  );
}

interface Account {
  readonly id: string;
  readonly hostName: string;
  readonly login: string;
  readonly expiresAt: string | null;
  readonly credential: 'token' | 'grant';
  readonly problem: string | null;
  readonly createdAt: string;
}

const columns: readonly Column<Account>[] = [
  { id: 'host', header: 'Git host', phone: 'first', cell: ({ hostName }) => <strong>{hostName}</strong> },
  { id: 'login', header: 'Account', phone: 'first', cell: ({ login }) => login },
  {
    id: 'state',
    header: 'Token',
    cell: ({ problem }) => (
      <State tone={problem === null ? 'ok' : 'failed'}>{problem === null ? 'Works' : problem}</State>
    ),
  },
  {
    id: 'expires',
    header: 'Expires',
    isFitted: true,
    cell: ({ expiresAt, credential }) =>
      expiresAt === null ? credential === 'grant' ? 'Renewed' : 'Unknown' : <Time at={expiresAt} />,
  },
  {
    id: 'made',
    header: 'Connected',
    isLabelled: true,
    isFitted: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

function Accounts({ id: organizationId, hasHosts }: { readonly id: string; readonly hasHosts: boolean }) {
  const options = gitAccountsQuery(organizationId);
  const query = useQuery(options);
  return (
    <RecordList
      name="accounts"
      query={query}
      columns={columns}
      rowKey={({ id }) => id}
      empty={
        <EmptyState icon={<CodeIcon />} title="No accounts yet">
          {hasHosts
            ? 'Connect an account on a Git host. Members can then create projects from its repositories.'
            : 'For GitLab, Gitea, Forgejo and Bitbucket, an operator of this platform adds the host first.'}
        </EmptyState>
      }
      actions={({ id, login, hostName }) => (
        <RowMenu
          id={id}
          name={`${login} on ${hostName}`}
          queryKey={options.queryKey}
          deleted={`Account ${login} removed`}
          onDelete={() =>
            dataOf(
              api.delete('/git-accounts/:gitAccountId', { params: { gitAccountId: id }, query: { organizationId } }),
            )
          }
        />
      )}
    />
  );
}

interface Host {
  readonly id: string;
  readonly name: string;
  readonly tokenAdvice: string;
}

function NewAccount({
  id: organizationId,
  hosts,
  onClose,
}: AddFormProps & { readonly id: string; readonly hosts: readonly Host[] }) {
  return (
    <RecordForm
      title="Connect account"
      description="The token is checked at once and stored encrypted. For an account that is connected already, the new token replaces the earlier token."
      action="Connect"
      failed="Could not connect the account"
      queryKey={['git-accounts', organizationId]}
      fields={{
        hostId: { label: 'Git host', choices: hosts.map(({ id, name }) => [id, name] as const) },
        token: {
          label: 'Access token',
          type: 'password',
          isCode: true,
          maxLength: 1000,
          hint: hosts.map(({ name, tokenAdvice }) => `${name}: ${tokenAdvice}.`).join(' '),
        },
      }}
      act={({ hostId, token }) =>
        dataOf(api.post('/git-hosts/:hostId/accounts', { params: { hostId }, body: { organizationId, token } }))
      }
      onDone={({ login, hostName }) => noteDone(`Connected ${login} on ${hostName}`)}
      onClose={onClose}
    />
  );
}

const kinds = [
  ['gitlab', 'GitLab'],
  ['gitea', 'Gitea'],
  ['forgejo', 'Forgejo'],
  ['bitbucket', 'Bitbucket Cloud'],
] as const;

function NewHost({ onClose }: AddFormProps) {
  return (
    <RecordForm
      title="Add Git host"
      description="All organizations of this platform can connect accounts on the host."
      action="Add"
      failed="Could not add the Git host"
      queryKey={['git-hosts']}
      fields={{
        kind: { label: 'Kind', choices: kinds },
        name: { label: 'Name', maxLength: 100, placeholder: 'Code' },
        url: {
          label: 'URL',
          type: 'url',
          isCode: true,
          isOptional: true,
          maxLength: 2048,
          hint: 'Empty for gitlab.com. For Bitbucket, the URL ends with the workspace.',
          placeholder: 'https://code.example.com',
        },
      }}
      act={({ kind, name, url }) =>
        dataOf(
          api.post('/git-hosts', {
            body: { kind: kind as (typeof kinds)[number][0], name, ...(url !== '' && { url }) },
          }),
        )
      }
      onDone={({ name }) => noteDone(`Added ${name}`)}
      onClose={onClose}
    />
  );
}

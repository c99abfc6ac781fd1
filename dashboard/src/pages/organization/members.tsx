// Members and invitations of an organization.
import { useInfiniteQuery, useQuery, type InfiniteData } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { byCursor, type Page } from '../../components/cursor-list.tsx';
import { MenuChoice, MenuItem, MenuLine, ActionsMenu } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';
import { userQuery } from '../../queries/account.ts';
import type { FullOrganization } from '../../queries/organization.ts';
import { AddButton } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { useRemoval } from '../../records/removals.ts';
import { useChange } from '../../records/use-change.ts';
import { isAdmin, OrganizationPage } from './organization-page.tsx';

type Role = 'owner' | 'admin' | 'member' | 'viewer';
type GrantedRole = Exclude<Role, 'owner'>;

const roleWords: readonly (readonly [GrantedRole, string])[] = [
  ['admin', 'Admin: manages members, tokens, secrets and domains'],
  ['member', 'Member: deploys, and changes projects and data'],
  ['viewer', 'Viewer: views projects, logs and usage'],
];

interface Member {
  readonly accountId: string;
  readonly login: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: string;
}

export function MembersPage() {
  return (
    <OrganizationPage
      title="Members"
      actions={(organization) => (
        <AddButton label="Invite">
          {({ onClose }) => <Invite organization={organization} onClose={onClose} />}
        </AddButton>
      )}
    >
      {(organization) => (
        <>
          <Members organization={organization} />
          {isAdmin(organization) && <Invitations id={organization.id} />}
        </>
      )}
    </OrganizationPage>
  );
}

function Members({ organization }: { readonly organization: FullOrganization }) {
  const { id } = organization;
  const queryKey = ['members', id];
  const remove = useRemoval(queryKey);
  const { data: user } = useQuery(userQuery);
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/orgs/:id/members', {
          params: { id },
          query: { limit: 100, ...(pageParam !== undefined && { cursor: pageParam }) },
          signal,
        }),
      ),
    ...byCursor,
  });
  const setRole = useChange<InfiniteData<Page<Member>>, { accountId: string; role: GrantedRole }, unknown>({
    queryKey,
    show: (data, { accountId, role }) => ({
      ...data,
      pages: data.pages.map((page) => ({
        ...page,
        items: page.items.map((one) => (one.accountId === accountId ? { ...one, role } : one)),
      })),
    }),
    act: ({ accountId, role }) =>
      dataOf(api.patch('/orgs/:id/members/:accountId', { params: { id, accountId }, body: { role } })),
    failed: 'Could not update the role',
  });
  const mayChange = isAdmin(organization);
  const columns: readonly Column<Member>[] = [
    {
      id: 'who',
      header: 'Member',
      phone: 'first',
      cell: ({ login, name, accountId }) => (
        <>
          <strong>{login}</strong>
          {name !== '' && name !== login && <span dir="auto"> {name}</span>}
          {accountId === user?.id && (
            <>
              {' '}
              <Badge>you</Badge>
            </>
          )}
        </>
      ),
    },
    {
      id: 'role',
      header: 'Role',
      isFitted: true,
      cell: ({ role }) => <Badge tone={role === 'owner' ? 'running' : 'neutral'}>{role}</Badge>,
    },
    { id: 'since', header: 'Joined', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
  return (
    <RecordList
      name="members"
      query={query}
      columns={columns}
      rowKey={({ accountId }) => accountId}
      empty={<EmptyState title="No members" />}
      actions={({ accountId, login, role }) =>
        mayChange &&
        role !== 'owner' && (
          <ActionsMenu of={login}>
            <MenuChoice
              title="Role"
              value={role}
              choices={roleWords}
              onChoose={(next) => setRole.mutate({ accountId, role: next })}
            />
            <MenuLine />
            <MenuItem
              isDanger
              onSelect={() =>
                remove(accountId, `${login} removed`, () =>
                  dataOf(api.delete('/orgs/:id/members/:accountId', { params: { id, accountId } })),
                )
              }
            >
              Remove from {organization.name}
            </MenuItem>
          </ActionsMenu>
        )
      }
    />
  );
}

const readInvitations = async (id: string, signal: AbortSignal) =>
  (await dataOf(api.get('/orgs/:id/invitations', { params: { id }, signal }))).items;
type Invitation = Awaited<ReturnType<typeof readInvitations>>[number];

const invitationColumns: readonly Column<Invitation>[] = [
  { id: 'login', header: 'Login', phone: 'first', cell: ({ login }) => login },
  { id: 'role', header: 'Role', isFitted: true, cell: ({ role }) => <Badge>{role}</Badge> },
  { id: 'ends', header: 'Expires', isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
];

function Invitations({ id }: { readonly id: string }) {
  const queryKey = ['invitations', id];
  const remove = useRemoval(queryKey);
  const query = useQuery({ queryKey, queryFn: ({ signal }) => readInvitations(id, signal) });
  if (query.data?.length === 0) return null;
  return (
    <Section title="Pending invitations">
      <RecordList
        name="invitations"
        query={query}
        columns={invitationColumns}
        rowKey={(one) => one.id}
        empty={null}
        actions={({ id: invitationId, login }) => (
          <Button
            size="small"
            aria-label={`Revoke the invitation of ${login}`}
            onClick={() =>
              remove(invitationId, `Invitation of ${login} revoked`, () =>
                dataOf(api.delete('/orgs/:id/invitations/:invitationId', { params: { id, invitationId } })),
              )
            }
          >
            Revoke
          </Button>
        )}
      />
    </Section>
  );
}

interface InviteProps {
  readonly organization: FullOrganization;
  readonly onClose: () => void;
}

function Invite({ organization: { id, name }, onClose }: InviteProps) {
  return (
    <RecordForm
      title={`Invite to ${name}`}
      action="Invite"
      failed="Could not send the invitation"
      queryKey={['invitations', id]}
      fields={{
        login: {
          label: 'Git host username',
          maxLength: 100,
          pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]*',
          title: 'Letters, digits, dots, hyphens and underscores',
        },
        role: { label: 'Role', choices: roleWords, value: 'member' },
      }}
      act={({ login, role }) =>
        dataOf(api.post('/orgs/:id/invitations', { params: { id }, body: { login, role: role as GrantedRole } }))
      }
      onDone={(_, { login }) =>
        noteDone(`${login} invited`, 'They can accept after signing in. The invitation expires in 7 days.')
      }
      onClose={onClose}
    />
  );
}

// Members and invitations of an organization.
import { DotsHorizontalIcon, PlusIcon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery, useQueryClient, type InfiniteData } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { useChange } from '../../api/use-change.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { CursorList, byCursor, type Page } from '../../components/cursor-list.tsx';
import { Field, Input, Select } from '../../components/field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Menu, MenuChoice, MenuItem, MenuLine } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';
import { userQuery } from '../../queries/account.ts';
import type { FullOrganization } from '../../queries/organization.ts';
import { removeLater, useRemoved } from '../../state/removals.ts';
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
  const [isInviting, setInviting] = useState(false);
  return (
    <OrganizationPage
      title="Members"
      actions={
        <Button variant="primary" onClick={() => setInviting(true)}>
          <PlusIcon /> Invite
        </Button>
      }
    >
      {(organization) => (
        <>
          <Members organization={organization} />
          {isAdmin(organization) && <Invitations organization={organization} />}
          {isInviting && <Invite organization={organization} onClose={() => setInviting(false)} />}
        </>
      )}
    </OrganizationPage>
  );
}

function Members({ organization }: { readonly organization: FullOrganization }) {
  const { id } = organization;
  const queryKey = ['members', id];
  const client = useQueryClient();
  const removed = useRemoved();
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
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (member) =>
        mayChange && member.role !== 'owner' ? (
          <Menu
            trigger={
              <IconButton label={`Actions for ${member.login}`} size="small">
                <DotsHorizontalIcon />
              </IconButton>
            }
          >
            <MenuChoice
              title="Role"
              value={member.role as GrantedRole}
              choices={roleWords}
              onChoose={(role) => setRole.mutate({ accountId: member.accountId, role })}
            />
            <MenuLine />
            <MenuItem
              isDanger
              onSelect={() =>
                removeLater(
                  member.accountId,
                  `${member.login} removed`,
                  () =>
                    dataOf(api.delete('/orgs/:id/members/:accountId', { params: { id, accountId: member.accountId } })),
                  () => client.invalidateQueries({ queryKey }),
                )
              }
            >
              Remove from {organization.name}
            </MenuItem>
          </Menu>
        ) : null,
    },
  ];
  return (
    <CursorList name="members" query={query} empty={<EmptyState title="No members" />}>
      {(items) => (
        <Table
          label="Members"
          columns={columns}
          rows={items.filter(({ accountId }) => !removed.has(accountId))}
          rowKey={({ accountId }) => accountId}
        />
      )}
    </CursorList>
  );
}

function Invitations({ organization }: { readonly organization: FullOrganization }) {
  const { id } = organization;
  const queryKey = ['invitations', id];
  const client = useQueryClient();
  const removed = useRemoved();
  const { data } = useQuery({
    queryKey,
    queryFn: ({ signal }) => dataOf(api.get('/orgs/:id/invitations', { params: { id }, signal })),
  });
  const rows = data?.items.filter((one) => !removed.has(one.id)) ?? [];
  if (rows.length === 0) return null;
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { id: 'login', header: 'Login', phone: 'first', cell: ({ login }) => login },
    { id: 'role', header: 'Role', isFitted: true, cell: ({ role }) => <Badge>{role}</Badge> },
    { id: 'ends', header: 'Expires', isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      id: 'actions',
      header: 'Actions',
      isHeaderHidden: true,
      isFitted: true,
      phone: 'first-end',
      cell: (invitation) => (
        <Button
          size="small"
          aria-label={`Revoke the invitation of ${invitation.login}`}
          onClick={() =>
            removeLater(
              invitation.id,
              `Invitation of ${invitation.login} revoked`,
              () =>
                dataOf(
                  api.delete('/orgs/:id/invitations/:invitationId', { params: { id, invitationId: invitation.id } }),
                ),
              () => client.invalidateQueries({ queryKey }),
            )
          }
        >
          Revoke
        </Button>
      ),
    },
  ];
  return (
    <Section title="Pending invitations">
      <Table label="Invitations" columns={columns} rows={rows} rowKey={(one) => one.id} />
    </Section>
  );
}

function Invite({ organization, onClose }: { readonly organization: FullOrganization; readonly onClose: () => void }) {
  const [login, setLogin] = useState('');
  const [role, setRole] = useState<GrantedRole>('member');
  const invite = useChange({
    queryKey: ['invitations', organization.id],
    failed: `Could not invite ${login}`,
    act: async () => {
      return await dataOf(
        api.post('/orgs/:id/invitations', { params: { id: organization.id }, body: { login, role } }),
      );
    },
    onDone: () => {
      noteDone(`${login} invited`, 'They can accept after signing in. The invitation expires in 7 days.');
      onClose();
    },
  });
  return (
    <FormDialog
      onClose={onClose}
      title={`Invite to ${organization.name}`}
      onSubmit={() => invite.mutate(undefined)}
      action="Invite"
      isPending={invite.isPending}
    >
      <Field label="Git host username" error={invite.problem}>
        {(control) => (
          <Input
            {...control}
            required
            autoFocus
            maxLength={100}
            pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
            title="Letters, digits, dots, hyphens and underscores"
            value={login}
            onChange={({ target }) => setLogin(target.value.trim())}
          />
        )}
      </Field>
      <Field label="Role">
        {(control) => (
          <Select {...control} value={role} onChange={({ target }) => setRole(target.value as GrantedRole)}>
            {roleWords.map(([one, words]) => (
              <option key={one} value={one}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </FormDialog>
  );
}

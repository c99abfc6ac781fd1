// Members and invitations of an organization.
import { useInfiniteQuery, useQuery, type InfiniteData } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { byCursor, type Page } from '../../components/cursor-list.tsx';
import { MenuChoice, MenuItem, MenuLine, ActionsMenu } from '../../components/menu.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { userQuery } from '../../queries/account.ts';
import type { FullOrganization } from '../../queries/organization.ts';
import { AddButton, type AddFormProps } from '../../records/add-button.tsx';
import { RecordForm } from '../../records/record-form.tsx';
import { RecordList } from '../../records/record-list.tsx';
import { useRemoval } from '../../records/removals.ts';
import { Secret } from '../../records/secret.tsx';
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
  readonly isFromGroup: boolean;
  readonly createdAt: string;
}

/** A recovery link that was created. */
interface Recovery {
  readonly accountId: string;
  readonly removeSecondFactor: boolean;
  readonly url: string;
}

export function MembersPage() {
  return (
    <OrganizationPage
      title="Members"
      actions={(organization) => (
        <AddButton
          label="Invite"
          secret={{ title: 'Invitation link', hint: 'Send it to one person. It works once, for 7 days.' }}
        >
          {(form) => <Invite organization={organization} {...form} />}
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
  const [recovery, setRecovery] = useState<Recovery | null>(null);
  const recover = useChange<InfiniteData<Page<Member>>, Omit<Recovery, 'url'>, { readonly url: string }>({
    queryKey,
    act: ({ accountId, removeSecondFactor }) =>
      dataOf(
        api.post('/operator/accounts/:accountId/recovery-link', {
          params: { accountId },
          body: { removeSecondFactor },
        }),
      ),
    failed: 'Could not create a recovery link',
    onDone: ({ url }, asked) => setRecovery({ ...asked, url }),
  });
  const mayChange = isAdmin(organization);
  const isOperator = user?.isOperator === true;
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
      cell: ({ role, isFromGroup }) => (
        <>
          <Badge tone={role === 'owner' ? 'running' : 'neutral'}>{role}</Badge>
          {isFromGroup && role !== 'owner' && (
            <span title="A group at the sign-in provider gives this role, again at each sign-in"> from a group</span>
          )}
        </>
      ),
    },
    {
      id: 'since',
      header: 'Joined',
      isLabelled: true,
      isFitted: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
  ];
  return (
    <>
      <RecordList
        name="members"
        query={query}
        columns={columns}
        rowKey={({ accountId }) => accountId}
        empty={<EmptyState title="No members" />}
        actions={({ accountId, login, role }) => {
          const isChangeable = mayChange && role !== 'owner';
          if (!isChangeable && !isOperator) return null;
          return (
            <ActionsMenu of={login}>
              {isOperator && (
                <>
                  <MenuItem onSelect={() => recover.mutate({ accountId, removeSecondFactor: false })}>
                    Create recovery link
                  </MenuItem>
                  <MenuItem onSelect={() => recover.mutate({ accountId, removeSecondFactor: true })}>
                    Create link that turns off two factors
                  </MenuItem>
                </>
              )}
              {isOperator && isChangeable && <MenuLine />}
              {isChangeable && (
                <>
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
                </>
              )}
            </ActionsMenu>
          );
        }}
      />
      {recovery !== null && (
        <Secret
          title="Recovery link"
          hint={`Send the link to this person only. The link sets a new password once, within a day${recovery.removeSecondFactor ? ', and turns off two-factor authentication' : ''}.`}
          value={recovery.url}
          onClose={() => setRecovery(null)}
        />
      )}
    </>
  );
}

const readInvitations = async (id: string, signal: AbortSignal) =>
  (await dataOf(api.get('/orgs/:id/invitations', { params: { id }, signal }))).items;
type Invitation = Awaited<ReturnType<typeof readInvitations>>[number];

/** The person for whom an invitation is meant. */
function nameOf({ login, email }: Pick<Invitation, 'login' | 'email'>): string {
  return login ?? email ?? 'Anyone with the link';
}

const invitationColumns: readonly Column<Invitation>[] = [
  { id: 'who', header: 'For', phone: 'first', cell: nameOf },
  { id: 'role', header: 'Role', isFitted: true, cell: ({ role }) => <Badge>{role}</Badge> },
  { id: 'ends', header: 'Expires', isLabelled: true, isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
];

function Invitations({ id }: { readonly id: string }) {
  const queryKey = ['invitations', id];
  const remove = useRemoval(queryKey);
  const query = useQuery({ queryKey, queryFn: ({ signal }) => readInvitations(id, signal) });
  if (query.error === null && (query.data ?? []).length === 0) return null;
  return (
    <Section title="Pending invitations">
      <RecordList
        name="invitations"
        query={query}
        columns={invitationColumns}
        rowKey={(one) => one.id}
        empty={null}
        actions={({ id: invitationId, ...invited }) => (
          <Button
            size="small"
            aria-label={`Revoke the invitation: ${nameOf(invited)}`}
            onClick={() =>
              remove(invitationId, `Invitation revoked: ${nameOf(invited)}`, () =>
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

interface InviteProps extends AddFormProps {
  readonly organization: FullOrganization;
}

const ways = [
  ['link', 'Link that you send'],
  ['email', 'Link by mail'],
  ['login', 'Git host username'],
] as const;

function Invite({ organization: { id, name }, onClose, onSecret }: InviteProps) {
  return (
    <RecordForm
      title={`Invite to ${name}`}
      action="Invite"
      failed="Could not invite"
      queryKey={['invitations', id]}
      fields={{
        way: { label: 'By', choices: ways },
        email: { label: 'Email address', type: 'email', maxLength: 254, isShown: ({ way }) => way === 'email' },
        login: {
          label: 'Git host username',
          maxLength: 100,
          pattern: '[A-Za-z0-9][A-Za-z0-9._\\-]*',
          title: 'Letters, digits, dots, hyphens and underscores',
          isShown: ({ way }) => way === 'login',
        },
        role: { label: 'Role', choices: roleWords, value: 'member' },
      }}
      act={({ login, email, role }) => {
        const invited = { ...(login !== '' && { login }), ...(email !== '' && { email }) };
        return dataOf(
          api.post('/orgs/:id/invitations', { params: { id }, body: { ...invited, role: role as GrantedRole } }),
        );
      }}
      onDone={({ url }, { login, email }) => {
        if (url !== null) return onSecret(url);
        noteDone(`${login}${email} invited`, 'The invitation expires in 7 days.');
      }}
      onClose={onClose}
    />
  );
}

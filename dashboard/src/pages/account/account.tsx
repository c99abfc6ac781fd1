// The account: tokens, sessions, invitations.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Facts, Page, Section } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.ts';
import { useChange } from '../../records/use-change.ts';
import { NewTokenButton, TokenList } from './token-list.tsx';

const TOKENS_KEY = ['tokens'];

export function AccountPage() {
  return (
    <Page
      title="Account"
      description="Your tokens, sessions and invitations"
      actions={<NewTokenButton queryKey={TOKENS_KEY} />}
    >
      <Invited />
      <Section title="Tokens">
        <TokenList
          queryKey={TOKENS_KEY}
          read={(cursor, signal) =>
            dataOf(api.get('/tokens', { query: { limit: 100, ...(cursor !== undefined && { cursor }) }, signal }))
          }
          revoke={(id) => dataOf(api.delete('/tokens/:id', { params: { id } }))}
          empty={
            <EmptyState title="No tokens yet" commands={['platform login']}>
              <code>platform login</code> creates a token for the CLI. Create others for programs and CI.
            </EmptyState>
          }
        />
      </Section>
      <WaysIn />
      <Sessions />
    </Page>
  );
}

function WaysIn() {
  const { data } = useQuery({
    queryKey: ['sign-in'],
    queryFn: ({ signal }) => dataOf(api.get('/user/sign-in', { signal })),
  });
  if (data === undefined) return null;
  const { offered, username, hasSecondFactor, passkeys, confirmedEmail, gitHostLogin, oidcName, oidcLogin } = data;
  const hasPassword = offered.includes('password') && username !== null;
  const link = <a href="/api/auth/link/git-host">Link your account</a>;
  return (
    <Section title="Sign-in">
      <Facts
        facts={[
          [
            'Password',
            offered.includes('password') ? (
              <Way value={username} page="/api/auth/password" add="Set a password" change="Change password" />
            ) : null,
          ],
          [
            'Two-factor authentication',
            hasPassword ? (
              <Way value={hasSecondFactor ? 'on' : null} page="/api/auth/two-factor" add="Turn on" change="Manage" />
            ) : null,
          ],
          [
            'Passkeys',
            offered.includes('passkey') ? (
              <Way
                value={passkeys === 0 ? null : String(passkeys)}
                page="/api/auth/passkeys"
                add="Add a passkey"
                change="Manage"
              />
            ) : null,
          ],
          [
            'Recovery email',
            hasPassword ? (
              <Way value={confirmedEmail} page="/api/auth/email" add="Set an address" change="Change address" />
            ) : null,
          ],
          [
            oidcName ?? 'OpenID Connect',
            offered.includes('oidc') ? (
              <Way value={oidcLogin} page="/api/auth/link/oidc" add="Link your account" change="Unlink" />
            ) : null,
          ],
          ['Git host', gitHostLogin ?? (offered.includes('git-host') ? link : null)],
        ]}
      />
    </Section>
  );
}

interface WayProps {
  /** Null: not set. */
  readonly value: string | null;
  /** A page of sign-in. */
  readonly page: string;
  readonly add: string;
  readonly change: string;
}

/** A setting of sign-in, with a link to its page. */
function Way({ value, page, add, change }: WayProps) {
  return value === null ? (
    <a href={page}>{add}</a>
  ) : (
    <>
      {value} <a href={page}>{change}</a>
    </>
  );
}

const readSessions = (signal: AbortSignal) => dataOf(api.get('/user/sessions', { signal }));
type Session = Awaited<ReturnType<typeof readSessions>>[number];

function Sessions() {
  const { data = [] } = useQuery({ queryKey: ['sessions'], queryFn: ({ signal }) => readSessions(signal) });
  const end = useChange<Session[], string, unknown>({
    queryKey: ['sessions'],
    show: (all, id) => all.filter((one) => one.id !== id),
    act: (id) => dataOf(api.delete('/user/sessions/:id', { params: { id } })),
    failed: 'Could not sign out the session',
    onDone: () => noteDone('Session signed out'),
  });
  const columns: readonly Column<Session>[] = [
    {
      id: 'agent',
      header: 'Browser',
      phone: 'first',
      cell: ({ userAgent, isCurrent }) => (
        <>
          <span title={userAgent ?? undefined}>{browserOf(userAgent)}</span> {isCurrent && <Badge>this browser</Badge>}
        </>
      ),
    },
    { id: 'address', header: 'Address', isFitted: true, cell: ({ address }) => <code>{address ?? 'unknown'}</code> },
    {
      id: 'since',
      header: 'Signed in',
      isLabelled: true,
      isFitted: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
    {
      id: 'ends',
      header: 'Expires',
      isLabelled: true,
      isFitted: true,
      cell: ({ expiresAt }) => <Time at={expiresAt} />,
    },
  ];
  return (
    <Section title="Sessions" actions={<SignOutEverywhere />}>
      <Table
        label="Sessions"
        columns={columns}
        actions={({ id, userAgent }) => (
          <Button size="small" aria-label={`Sign out ${browserOf(userAgent)}`} onClick={() => end.mutate(id)}>
            Sign out
          </Button>
        )}
        rows={data}
        rowKey={({ id }) => id}
      />
    </Section>
  );
}

function SignOutEverywhere() {
  const [isOpen, setOpen] = useState(false);
  const end = useChange<Session[], void, unknown>({
    queryKey: ['sessions'],
    act: () => dataOf(api.delete('/user/sessions')),
    failed: 'Could not sign out everywhere',
    onDone: () => location.assign('/api/auth/sign-in'),
  });
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)}>
        Sign out everywhere
      </Button>
      <Confirm
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Sign out everywhere?"
        action="Sign out everywhere"
        onConfirm={() => end.mutate()}
        isPending={end.isPending}
        error={end.problem}
      >
        This ends all your sessions, including this one. Tokens stay valid: revoke them above.
      </Confirm>
    </>
  );
}

/** @example browserOf('Mozilla/5.0 (X11; Linux x86_64) ... Firefox/128.0') // 'Firefox on Linux' */
function browserOf(agent: string | null): string {
  if (agent === null) return 'Unknown';
  const name = /Edg\//.exec(agent) ? 'Edge' : (/(Firefox|Chrome|Safari)\//.exec(agent)?.[1] ?? 'Unknown browser');
  const system = /(Windows|Mac OS X|Android|iPhone|Linux)/.exec(agent)?.[1];
  return system === undefined ? name : `${name} on ${system.replace('Mac OS X', 'macOS')}`;
}

function Invited() {
  const client = useQueryClient();
  const { data } = useQuery({
    queryKey: ['my-invitations'],
    queryFn: ({ signal }) => dataOf(api.get('/invitations', { signal })),
  });
  const answer = useChange({
    queryKey: ['my-invitations'],
    act: ({ id, isYes }: { id: string; isYes: boolean }) =>
      isYes
        ? dataOf(api.post('/invitations/:id/accept', { params: { id } }))
        : dataOf(api.post('/invitations/:id/decline', { params: { id } })),
    failed: 'Could not respond to the invitation',
    onDone: () => void client.invalidateQueries(),
  });
  const rows = data?.items ?? [];
  if (rows.length === 0) return null;
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      id: 'name',
      header: 'Organization',
      phone: 'first',
      cell: ({ organizationName }) => <strong dir="auto">{organizationName}</strong>,
    },
    { id: 'role', header: 'Role', isFitted: true, cell: ({ role }) => <Badge>{role}</Badge> },
    {
      id: 'ends',
      header: 'Expires',
      isLabelled: true,
      isFitted: true,
      cell: ({ expiresAt }) => <Time at={expiresAt} />,
    },
  ];
  return (
    <Section title="Invitations">
      <Table
        label="Invitations"
        columns={columns}
        actions={({ id, organizationName }) => (
          <>
            <Button
              size="small"
              aria-label={`Join ${organizationName}`}
              onClick={() => answer.mutate({ id, isYes: true })}
            >
              Join
            </Button>{' '}
            <Button
              size="small"
              variant="ghost"
              aria-label={`Decline ${organizationName}`}
              onClick={() => answer.mutate({ id, isYes: false })}
            >
              Decline
            </Button>
          </>
        )}
        rows={rows}
        rowKey={({ id }) => id}
      />
    </Section>
  );
}

// The account: tokens, sessions, invitations.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, dataOf } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { noteDone } from '../../components/toast.tsx';
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
      <Sessions />
    </Page>
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
      cell: ({ userAgent }) => <span title={userAgent ?? undefined}>{browserOf(userAgent)}</span>,
    },
    { id: 'address', header: 'Address', isFitted: true, cell: ({ address }) => <code>{address ?? 'unknown'}</code> },
    { id: 'since', header: 'Signed in', isFitted: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { id: 'ends', header: 'Expires', isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  ];
  return (
    <Section title="Sessions">
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
    { id: 'ends', header: 'Expires', isFitted: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
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

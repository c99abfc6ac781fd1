// The audit log of an organization, filtered by actor, subject and time, with details of an event.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { CursorList, byCursor } from '../../components/cursor-list.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { Input, Select } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Facts, Filters } from '../../components/page.tsx';
import { Badge } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import type { FullOrganization } from '../../queries/organization.ts';
import { OrganizationPage } from './organization-page.tsx';

const subjects = [
  'account',
  'database',
  'deploy_hook',
  'deployment',
  'domain',
  'invitation',
  'organization',
  'project',
  'repository',
  'token',
  'variable',
  'webhook',
] as const;
const ranges = { '1': 'Last 24 hours', '7': 'Last 7 days', '30': 'Last 30 days' } as const;
const DAY_MS = 86_400_000;
const TYPED_MS = 300;

interface Event {
  readonly id: string;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string | null; readonly login: string | null };
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string | null;
  readonly projectId: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly address: string | null;
  readonly requestId: string | null;
}

const columns: readonly Column<Event>[] = [
  { id: 'action', header: 'Action', phone: 'first', cell: ({ action }) => <code>{action}</code> },
  { id: 'subject', header: 'Subject', cell: (event) => <span dir="auto">{subjectOf(event)}</span> },
  {
    id: 'who',
    header: 'Actor',
    isFitted: true,
    cell: ({ actor }) => (
      <>
        {actor.login ?? (actor.kind === 'system' ? 'system' : 'unknown')}{' '}
        {actor.kind === 'token' && <Badge>token</Badge>}
      </>
    ),
  },
  { id: 'at', header: 'Time', isFitted: true, phone: 'first-end', cell: ({ at }) => <Time at={at} /> },
];

/** Label of the event's subject. */
function subjectOf({ details, subjectKind, subjectId }: Event): string {
  const { name, key, hostname, login, branch } = details;
  const word = [name, key, hostname, login, branch].find((one) => typeof one === 'string');
  return `${subjectKind.replace('_', ' ')} ${word ?? subjectId ?? ''}`;
}

export function AuditPage() {
  return (
    <OrganizationPage title="Audit log">{(organization) => <Audit organization={organization} />}</OrganizationPage>
  );
}

function Audit({ organization: { id } }: { readonly organization: FullOrganization }) {
  const search = useSearch({ from: '/orgs/$org/audit' });
  const navigate = useNavigate({ from: '/orgs/$org/audit' });
  const [typed, setTyped] = useState(search.actor ?? '');
  const { actor, subject, days, event: openId } = search;
  useEffect(() => {
    const timer = setTimeout(
      () => void navigate({ search: (now) => ({ ...now, actor: typed.trim() || undefined }), replace: true }),
      TYPED_MS,
    );
    return () => clearTimeout(timer);
  }, [typed, navigate]);
  const query = useInfiniteQuery({
    queryKey: ['audit', id, actor, subject, days],
    queryFn: ({ signal, pageParam }) =>
      dataOf(
        api.get('/orgs/:id/audit', {
          params: { id },
          query: {
            limit: 50,
            ...(actor !== undefined && { actor }),
            ...(subject !== undefined && { subjectKind: subject }),
            ...(days !== undefined && { from: new Date(Date.now() - Number(days) * DAY_MS).toISOString() }),
            ...(pageParam !== undefined && { cursor: pageParam }),
          },
          signal,
        }),
      ),
    ...byCursor,
  });
  const open = (event: Event | null): void => void navigate({ search: (now) => ({ ...now, event: event?.id }) });
  const isNarrowed = actor !== undefined || subject !== undefined || days !== undefined;
  return (
    <>
      <Filters>
        <Input aria-label="Login" placeholder="Login" value={typed} onChange={({ target }) => setTyped(target.value)} />
        <Select
          aria-label="Subject"
          value={subject ?? ''}
          onChange={({ target }) =>
            void navigate({ search: (now) => ({ ...now, subject: target.value || undefined }) })
          }
        >
          <option value="">All subjects</option>
          {subjects.map((one) => (
            <option key={one} value={one}>
              {one.replace('_', ' ')}
            </option>
          ))}
        </Select>
        <Select
          aria-label="Time range"
          value={days ?? ''}
          onChange={({ target }) => void navigate({ search: (now) => ({ ...now, days: target.value || undefined }) })}
        >
          <option value="">All time</option>
          {Object.entries(ranges).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Select>
      </Filters>
      <CursorList
        name="events"
        query={query}
        empty={<EmptyState title={isNarrowed ? 'No results' : 'No events yet'} />}
      >
        {(items) => {
          const opened = items.find((event) => event.id === openId) ?? null;
          return (
            <>
              <Table
                label="Audit log"
                columns={columns}
                rows={items}
                rowKey={(event) => event.id}
                onOpen={open}
                selectedKey={opened?.id ?? null}
              />
              <Sheet isOpen={opened !== null} onClose={() => open(null)} title={<code>{opened?.action}</code>}>
                {opened !== null && <Details event={opened} />}
              </Sheet>
            </>
          );
        }}
      </CursorList>
    </>
  );
}

function Details({ event }: { readonly event: Event }) {
  const { actor, address, requestId, projectId, subjectId } = event;
  return (
    <>
      <Facts
        facts={[
          ['Time', <Time key="at" at={event.at} isExact />],
          ['Actor', actor.login ?? actor.kind],
          ['Via', actor.kind === 'token' ? 'token' : actor.kind === 'system' ? 'system' : 'dashboard'],
          ['Subject', subjectId === null ? event.subjectKind : <Id key="of" id={subjectId} chars={28} />],
          ['Project', projectId === null ? null : <Id key="project" id={projectId} chars={28} />],
          ['IP address', address],
          ['Request', requestId === null ? null : <Id key="request" id={requestId} chars={28} />],
        ]}
      />
      <CodeBlock code={JSON.stringify(event.details, null, 2)} wraps />
    </>
  );
}

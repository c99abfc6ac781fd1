// Finished requests and events of a project, by time, duration or CPU.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { CursorList, byCursor } from '../../components/cursor-list.tsx';
import { Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { droppedQuery, invocationsQuery, type StoredInvocation } from '../../queries/logs.ts';
import { methods, type LogSearch, type Narrow } from '../../queries/log-search.ts';
import { cpuText } from '../../queries/usage.ts';
import { Dropped } from './dropped.tsx';
import { KindSelect, LogsPage } from './logs-page.tsx';

const LOOK_MS = 10_000;

export function LogsRequestsPage() {
  return (
    <LogsPage
      title="Requests"
      from="/projects/$project/logs/requests"
      searchWords="Path prefix"
      filters={(search, narrow) => (
        <>
          <Select
            aria-label="Status"
            value={search.outcome ?? ''}
            onChange={({ target }) => narrow({ outcome: (target.value || undefined) as 'failed' | undefined })}
          >
            <option value="">Any status</option>
            <option value="failed">Failed</option>
          </Select>
          <KindSelect search={search} narrow={narrow} />
          <Select
            aria-label="Method"
            value={search.method ?? ''}
            onChange={({ target }) => narrow({ method: (target.value || undefined) as LogSearch['method'] })}
          >
            <option value="">Any method</option>
            {methods.map((method) => (
              <option key={method}>{method}</option>
            ))}
          </Select>
          <Select
            aria-label="Sort by"
            value={search.order ?? ''}
            onChange={({ target }) => narrow({ order: (target.value || undefined) as 'cpu' | 'wall' | undefined })}
          >
            <option value="">Newest first</option>
            <option value="wall">Slowest first</option>
            <option value="cpu">Most CPU first</option>
          </Select>
        </>
      )}
    >
      {(project, search, narrow) => <Requests project={project} search={search} narrow={narrow} />}
    </LogsPage>
  );
}

function toneOf({ outcome, status }: StoredInvocation): Tone {
  if (outcome !== 'ok' || status >= 500) return 'failed';
  return status >= 400 ? 'warning' : 'ok';
}

/** @example '500 worker threw' */
function statusText({ outcome, status }: StoredInvocation): string {
  const parts = [
    ...(status === 0 ? [] : [String(status)]),
    ...(outcome === 'ok' ? [] : [outcome.replaceAll('_', ' ')]),
  ];
  return parts.length === 0 ? 'OK' : parts.join(' ');
}

const columns: readonly Column<StoredInvocation>[] = [
  {
    id: 'what',
    header: 'Request',
    phone: 'first',
    cell: ({ method, path, kind, route }) => (
      <code title={path}>{method === '' ? `${kind} ${route}` : `${method} ${path}`}</code>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    isFitted: true,
    phone: 'first-end',
    cell: (one) => <State tone={toneOf(one)}>{statusText(one)}</State>,
  },
  { id: 'wall', header: 'Duration', align: 'end', isFitted: true, cell: ({ wallMs }) => durationText(wallMs) },
  { id: 'cpu', header: 'CPU', align: 'end', isFitted: true, cell: ({ cpuMs }) => cpuText(cpuMs) },
  { id: 'at', header: 'Time', isFitted: true, cell: ({ at }) => <Time at={at} /> },
];

function Requests({
  project,
  search,
  narrow,
}: {
  readonly project: Project;
  readonly search: LogSearch;
  readonly narrow: Narrow;
}) {
  const { data: dropped } = useQuery(droppedQuery(project.id, search));
  const query = useInfiniteQuery({ ...invocationsQuery(project.id, search), ...byCursor, refetchInterval: LOOK_MS });
  return (
    <>
      {dropped !== undefined && <Dropped project={project} dropped={dropped} />}
      <CursorList
        name="requests"
        query={query}
        empty={<EmptyState title="No requests in this period">Select a longer period, or remove a filter.</EmptyState>}
      >
        {(items) => (
          <Table
            label="Requests"
            columns={columns}
            rows={items}
            rowKey={({ id }) => id}
            onOpen={({ id }) => narrow({ invocation: id })}
            selectedKey={search.invocation ?? null}
          />
        )}
      </CursorList>
    </>
  );
}

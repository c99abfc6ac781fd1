// Traces that started on the platform, newest first. trace.tsx shows one.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { CursorList, byCursor } from '../../components/cursor-list.tsx';
import { Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { tracesQuery, type TraceSummary } from '../../queries/logs.ts';
import { statusClasses, type LogSearch, type StatusClass } from '../../queries/log-search.ts';
import { LogsPage } from './logs-page.tsx';

const LOOK_MS = 10_000;
/** Choices of the minimum duration, in ms. */
const LEAST_MS = [10, 100, 1000, 10_000];

export function LogsTracesPage() {
  return (
    <LogsPage
      title="Traces"
      from="/projects/$project/logs/traces"
      searchWords="Search names"
      filters={(search, narrow) => (
        <>
          <Select
            aria-label="Status"
            value={search.outcome ?? search.status ?? ''}
            onChange={({ target: { value } }) =>
              narrow(
                value === 'failed'
                  ? { outcome: 'failed', status: undefined }
                  : { outcome: undefined, status: (value || undefined) as StatusClass | undefined },
              )
            }
          >
            <option value="">Any status</option>
            <option value="failed">Failed</option>
            {statusClasses.map((one) => (
              <option key={one} value={one}>
                Status {one}
              </option>
            ))}
          </Select>
          <Select
            aria-label="Duration"
            value={search.least ?? ''}
            onChange={({ target: { value } }) => narrow({ least: value === '' ? undefined : Number(value) })}
          >
            <option value="">Any duration</option>
            {LEAST_MS.map((ms) => (
              <option key={ms} value={ms}>
                {durationText(ms)} or more
              </option>
            ))}
          </Select>
        </>
      )}
    >
      {(project, search) => <Traces project={project} search={search} />}
    </LogsPage>
  );
}

function toneOf({ error, failures, status }: TraceSummary): Tone {
  if (error !== null || status >= 500) return 'failed';
  return failures > 0 || status >= 400 ? 'warning' : 'ok';
}

/** @example endText({ error: 'worker_threw: no', ... }) // 'worker threw' */
function endText({ error, failures, status }: TraceSummary): string {
  if (error !== null) return error.split(':', 1)[0]!.replaceAll('_', ' ');
  const end = status === 0 ? 'OK' : String(status);
  return failures === 0 ? end : `${end}, ${failures} failed inside`;
}

const columnsOf = (project: string): readonly Column<TraceSummary>[] => [
  {
    id: 'name',
    header: 'Trace',
    phone: 'first',
    cell: ({ name, traceId }) => (
      <Link to="/projects/$project/logs/traces/$trace" params={{ project, trace: traceId }}>
        <code>{name}</code>
      </Link>
    ),
  },
  {
    id: 'end',
    header: 'Status',
    isFitted: true,
    phone: 'first-end',
    cell: (trace) => <State tone={toneOf(trace)}>{endText(trace)}</State>,
  },
  {
    id: 'spans',
    header: 'Spans',
    align: 'end',
    isFitted: true,
    cell: ({ spans }) => spans.toLocaleString('en'),
  },
  { id: 'ms', header: 'Duration', align: 'end', isFitted: true, cell: ({ ms }) => durationText(ms) },
  { id: 'at', header: 'Time', isFitted: true, cell: ({ at }) => <Time at={at} /> },
];

function Traces({ project, search }: { readonly project: Project; readonly search: LogSearch }) {
  const query = useInfiniteQuery({ ...tracesQuery(project.id, search), ...byCursor, refetchInterval: LOOK_MS });
  const navigate = useNavigate();
  return (
    <CursorList
      name="traces"
      query={query}
      empty={
        <EmptyState title="No traces in this period">
          Requests and events are traced; busy projects are sampled. Select a longer period, or remove a filter.
        </EmptyState>
      }
    >
      {(items) => (
        <Table
          label="Traces"
          columns={columnsOf(project.name)}
          rows={items}
          rowKey={({ traceId, invocation }) => `${traceId} ${invocation}`}
          onOpen={({ traceId }) =>
            void navigate({
              to: '/projects/$project/logs/traces/$trace',
              params: { project: project.name, trace: traceId },
            })
          }
        />
      )}
    </CursorList>
  );
}

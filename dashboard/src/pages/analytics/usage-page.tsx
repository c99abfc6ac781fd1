// CPU of a project against its budgets; for a route, the invocations with the highest share of their CPU budget.
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Sheet } from '../../components/dialog.tsx';
import { Id } from '../../components/id.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { State } from '../../components/state.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { costliestQuery, cpuText, type Invocation } from '../../queries/usage.ts';
import { AnalyticsFrame } from './analytics-frame.tsx';
import { Share, UsageView, type UsageSearch } from './usage.tsx';

export function UsagePage() {
  const search = useSearch({ from: '/projects/$project/analytics/usage' });
  const navigate = useNavigate({ from: '/projects/$project/analytics/usage' });
  const onSearch = (next: UsageSearch): void => void navigate({ search: next });
  return (
    <AnalyticsFrame title="CPU usage">
      {(project) => (
        <>
          <UsageView
            of={{ projectId: project.id }}
            search={search}
            onSearch={onSearch}
            onOpen={({ route }) => onSearch({ ...search, route: route ?? '' })}
          />
          {search.route !== undefined && (
            <Costliest project={project} search={search} onClose={() => onSearch({ ...search, route: undefined })} />
          )}
        </>
      )}
    </AnalyticsFrame>
  );
}

interface CostliestProps {
  readonly project: Project;
  readonly search: UsageSearch;
  readonly onClose: () => void;
}

function Costliest({ project, search: { range = 'day', kind = 'http', route = '' }, onClose }: CostliestProps) {
  const { data, error, refetch } = useQuery(costliestQuery(project.id, range, kind, route));
  const limit = data?.budget.cpuMs[kind] ?? 0;
  const columns: readonly Column<Invocation>[] = [
    {
      id: 'id',
      header: 'Invocation',
      phone: 'first',
      cell: ({ id }) => (
        <Link
          to="/projects/$project/logs"
          params={{ project: project.name }}
          search={{ invocation: id }}
          className="link"
          title="Open the logs"
        >
          <Id id={id} chars={22} isPlain />
        </Link>
      ),
    },
    { id: 'at', header: 'Time', isFitted: true, cell: ({ at }) => <Time at={at} /> },
    {
      id: 'end',
      header: 'Status',
      isFitted: true,
      phone: 'hidden',
      cell: ({ isFailure }) => <State tone={isFailure ? 'failed' : 'ok'}>{isFailure ? 'Failed' : 'OK'}</State>,
    },
    { id: 'cpu', header: 'CPU', align: 'end', isFitted: true, cell: ({ cpuMs }) => cpuText(cpuMs) },
    {
      id: 'deployment',
      header: 'Deployment',
      isFitted: true,
      cell: ({ deploymentId }) => (
        <Link to="/deployments/$deployment" params={{ deployment: deploymentId }} className="link">
          <Id id={deploymentId} isPlain />
        </Link>
      ),
    },
    {
      id: 'share',
      header: 'Budget used',
      align: 'end',
      isFitted: true,
      phone: 'first-end',
      cell: ({ cpuMs }) => <Share share={limit === 0 ? null : cpuMs / limit} />,
    },
  ];
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={<code>{route === '' ? kind : route}</code>}
      description={
        limit === 0 ? 'Invocations with the most CPU time' : `Invocations closest to the limit of ${cpuText(limit)}`
      }
    >
      {data === undefined && <Unloaded what="the invocations" error={error} refetch={refetch} />}
      {data !== undefined &&
        (data.items.length === 0 ? (
          <EmptyState title="No invocations recorded">
            Invocations from older platform versions are counted but not listed.
          </EmptyState>
        ) : (
          <Table label="Costliest invocations" columns={columns} rows={data.items} rowKey={({ id }) => id} />
        ))}
    </Sheet>
  );
}

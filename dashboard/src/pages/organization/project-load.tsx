// Projects ordered by requests, failures, latency or CPU, the highest first, on the overview of an organization and on
// the operator's page.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Select } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { countText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import { projectsQuery } from '../../queries/account.ts';
import { routeOrders, type RouteOrder } from '../../queries/analytics-search.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import styles from '../analytics/usage.module.css';

/** What a project served over a period. */
interface ProjectLoad {
  readonly projectId: string;
  /** The name of the project, for accounts that are not members of its organization. */
  readonly name?: string;
  /** Shown if given. */
  readonly organization?: string;
  readonly invocations: number;
  readonly failures: number;
  readonly cpuMs: number;
  readonly firstByteMs?: { readonly p99: number } | null;
}

interface ProjectLoadsProps {
  /** "Projects, last 24 hours". */
  readonly title: string;
  readonly loads: readonly ProjectLoad[];
  readonly order: RouteOrder;
  readonly onOrder: (order: RouteOrder) => void;
}

const ranks: Readonly<Record<RouteOrder, (load: ProjectLoad) => number>> = {
  requests: ({ invocations }) => invocations,
  errors: ({ failures }) => failures,
  latency: ({ firstByteMs }) => firstByteMs?.p99 ?? 0,
  cpu: ({ cpuMs }) => cpuMs,
};

export function ProjectLoads({ title, loads, order, onOrder }: ProjectLoadsProps) {
  const { data: own = [] } = useQuery(projectsQuery());
  const names = new Map(own.map(({ id, name }) => [id, name]));
  const rows = loads.toSorted((one, other) => ranks[order](other) - ranks[order](one));
  const orders = Object.entries(routeOrders).filter(
    ([id]) => id !== 'latency' || loads.some(({ firstByteMs }) => firstByteMs !== undefined),
  );
  const columns: readonly Column<ProjectLoad>[] = [
    {
      id: 'project',
      header: 'Project',
      phone: 'first',
      cell: ({ projectId, name }) => {
        const ownName = names.get(projectId);
        if (ownName === undefined) return name ?? projectId;
        return (
          <Link className="link" to="/projects/$project" params={{ project: ownName }}>
            {ownName}
          </Link>
        );
      },
    },
    ...(loads.some(({ organization }) => organization !== undefined)
      ? [{ id: 'organization', header: 'Organization', cell: ({ organization }: ProjectLoad) => organization }]
      : []),
    {
      id: 'invocations',
      header: 'Invocations',
      align: 'end',
      isFitted: true,
      cell: ({ invocations }) => countText(invocations),
    },
    {
      id: 'failures',
      header: 'Failed',
      align: 'end',
      isFitted: true,
      phone: 'first-end',
      cell: ({ failures, invocations }) =>
        failures === 0 ? '0' : `${countText(failures)} (${shareText(failures / invocations)})`,
    },
    ...(loads.some(({ firstByteMs }) => firstByteMs !== undefined)
      ? [
          {
            id: 'latency',
            header: 'First byte p99',
            align: 'end' as const,
            isFitted: true,
            cell: ({ firstByteMs }: ProjectLoad) => (firstByteMs == null ? '–' : latencyText(firstByteMs.p99)),
          },
        ]
      : []),
    { id: 'cpu', header: 'CPU', align: 'end', isFitted: true, cell: ({ cpuMs }) => cpuText(cpuMs) },
  ];
  return (
    <Section
      title={title}
      actions={
        <Select
          className={styles.order}
          aria-label="Sort projects by"
          value={order}
          onChange={({ target }) => onOrder(target.value as RouteOrder)}
        >
          {orders.map(([id, words]) => (
            <option key={id} value={id}>
              {words}
            </option>
          ))}
        </Select>
      }
    >
      <Table label="Projects" columns={columns} rows={rows} rowKey={({ projectId }) => projectId} />
    </Section>
  );
}

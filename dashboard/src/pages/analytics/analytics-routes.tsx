// Routes of a project, or names of its queues and workflows, by requests, failures, latency or CPU. The number of the
// compared deployment is beside each number.
import { ButtonLink } from '../../components/button.tsx';
import { Select } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { countText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import type { Project } from '../../queries/account.ts';
import { type Analytics, type RouteCounts } from '../../queries/analytics.ts';
import {
  routeOrders,
  type AnalyticsSearch,
  type NarrowAnalytics,
  type RouteOrder,
} from '../../queries/analytics-search.ts';
import { nameOfRoute, routeText } from '../../queries/route-text.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import type { Kind } from '../../queries/usage-search.ts';
import styles from './usage.module.css';

interface RoutesProps {
  readonly data: Analytics;
  readonly project: Project;
  readonly search: AnalyticsSearch;
  readonly narrow: NarrowAnalytics;
}

type Text = (counts: RouteCounts) => string;

const numbers: readonly (Pick<Column<RouteCounts>, 'id' | 'header' | 'phone' | 'isExtra'> & { readonly text: Text })[] =
  [
    { id: 'requests', header: 'Requests', text: ({ requests }) => countText(requests) },
    {
      id: 'failed',
      header: 'Failed',
      text: ({ failures, requests }) =>
        failures === 0 ? '0' : `${countText(failures)} (${shareText(failures / requests)})`,
    },
    {
      id: 'p50',
      header: 'First byte p50',
      isExtra: true,
      phone: 'hidden',
      text: ({ firstByteMs }) => latency(firstByteMs?.p50),
    },
    { id: 'p95', header: 'p95', isExtra: true, phone: 'hidden', text: ({ firstByteMs }) => latency(firstByteMs?.p95) },
    { id: 'p99', header: 'p99', phone: 'first-end', text: ({ firstByteMs }) => latency(firstByteMs?.p99) },
    {
      id: 'answer',
      header: 'Response p99',
      isExtra: true,
      phone: 'hidden',
      text: ({ answerMs }) => latency(answerMs?.p99),
    },
    { id: 'cpu', header: 'CPU', text: ({ cpuMs }) => cpuText(cpuMs) },
    {
      id: 'each',
      header: 'CPU per request',
      isExtra: true,
      phone: 'hidden',
      text: ({ cpuMs, requests }) => cpuText(cpuMs / requests),
    },
  ];

const titles: Readonly<Record<Kind, string>> = {
  http: 'Routes',
  object: 'Objects',
  queue: 'Queues',
  timer: 'Timers',
  cron: 'Schedules',
  workflow: 'Workflows',
};

const latency = (ms: number | undefined): string => (ms === undefined ? '–' : latencyText(ms));

export function AnalyticsRoutes({ data, project, search, narrow }: RoutesProps) {
  const { order = 'requests', kind = 'http', route, range, from, to, deployment } = search;
  const title = titles[kind];
  const before = new Map(data.compared?.routes.map((one) => [one.route, one]));
  const columns: readonly Column<RouteCounts>[] = [
    {
      id: 'route',
      header: kind === 'http' ? 'Route' : 'Name',
      phone: 'first',
      cell: ({ route: name }) => (
        <span className={styles.route} title={routeText(name)}>
          {routeText(name)}
        </span>
      ),
    },
    ...numbers.map(({ text, ...column }): Column<RouteCounts> => ({
      ...column,
      align: 'end',
      isFitted: true,
      cell: (counts) => {
        const other = before.get(counts.route);
        return (
          <>
            {text(counts)}
            {other !== undefined && <small className={styles.was}> was {text(other)}</small>}
          </>
        );
      },
    })),
  ];
  return (
    <Section
      title={title}
      actions={
        <>
          {route !== undefined && (
            <ButtonLink
              size="small"
              to="/projects/$project/logs/requests"
              params={{ project: project.name }}
              search={{ route: nameOfRoute(route), range, from, to, deployment }}
            >
              View requests
            </ButtonLink>
          )}
          <Select
            className={styles.order}
            aria-label={`Sort ${title.toLowerCase()} by`}
            value={order}
            onChange={({ target }) => narrow({ order: target.value as RouteOrder })}
          >
            {Object.entries(routeOrders).map(([id, words]) => (
              <option key={id} value={id}>
                {words}
              </option>
            ))}
          </Select>
        </>
      }
    >
      <Table
        label={title}
        columns={columns}
        rows={data.routes}
        rowKey={({ route: name }) => name}
        onOpen={({ route: name }) => narrow({ route: name })}
      />
    </Section>
  );
}

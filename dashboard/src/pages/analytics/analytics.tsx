// Analytics of a project: requests, failures, latency and CPU over a period, by route, and of two deployments side by
// side. All filters are in the address.
import { BarChartIcon, Cross2Icon } from '@radix-ui/react-icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { IconButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Badge } from '../../components/state.tsx';
import { countText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import type { Project } from '../../queries/account.ts';
import { analyticsQuery, type Analytics } from '../../queries/analytics.ts';
import type { AnalyticsSearch, NarrowAnalytics } from '../../queries/analytics-search.ts';
import type { Counts } from '../../queries/analytics-counts.ts';
import { deploymentsQuery, titleOf, type Deployment } from '../../queries/deployments.ts';
import { routeText } from '../../queries/route-text.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import { AnalyticsCharts } from './analytics-charts.tsx';
import { AnalyticsFilters } from './analytics-filters.tsx';
import { AnalyticsFrame } from './analytics-frame.tsx';
import { notesOf } from './analytics-notes.ts';
import { Comparison } from './comparison.tsx';
import { AnalyticsRoutes } from './analytics-routes.tsx';
import styles from './usage.module.css';

export function AnalyticsPage() {
  return <AnalyticsFrame title="Analytics">{(project) => <ProjectAnalytics project={project} />}</AnalyticsFrame>;
}

function ProjectAnalytics({ project }: { readonly project: Project }) {
  const search: AnalyticsSearch = useSearch({ from: '/projects/$project/analytics' });
  const navigate = useNavigate({ from: '/projects/$project/analytics' });
  const narrow: NarrowAnalytics = (change) =>
    void navigate({ search: (now: AnalyticsSearch) => ({ ...now, ...change }) });
  const { data, error, refetch } = useQuery(analyticsQuery(project.id, search));
  const deployments = useInfiniteQuery(deploymentsQuery(project.id, { target: 'production' }));
  const released = useMemo(() => deployments.data?.pages.flatMap(({ items }) => items) ?? [], [deployments.data]);
  if (data === undefined) return <Unloaded what="the analytics" error={error} refetch={refetch} />;
  const nameOf = (id: string): string => nameIn(released, id);
  const served = servedOf(data, released);
  return (
    <>
      <AnalyticsFilters data={data} served={served} search={search} narrow={narrow} nameOf={nameOf} />
      {search.route !== undefined && (
        <div className={styles.chip}>
          <Badge tone="running">
            {search.kind === undefined || search.kind === 'http' ? 'route' : 'name'} {routeText(search.route)}
          </Badge>
          <IconButton label="Remove filter: route" size="small" onClick={() => narrow({ route: undefined })}>
            <Cross2Icon />
          </IconButton>
        </div>
      )}
      {data.totals.requests === 0 && (data.compared?.totals.requests ?? 0) === 0 ? (
        <EmptyState icon={<BarChartIcon />} title="No requests in this period">
          Requests are counted when they end and appear within ten seconds. Select a longer period, or remove a filter.
        </EmptyState>
      ) : (
        <Measured data={data} project={project} search={search} narrow={narrow} released={released} nameOf={nameOf} />
      )}
    </>
  );
}

interface MeasuredProps {
  readonly data: Analytics;
  readonly project: Project;
  readonly search: AnalyticsSearch;
  readonly narrow: NarrowAnalytics;
  readonly released: readonly Deployment[];
  readonly nameOf: (deploymentId: string) => string;
}

function Measured({ data, project, search, narrow, released, nameOf }: MeasuredProps) {
  const notes = notesOf(data, Date.now());
  return (
    <>
      {data.compared === null ? <Totals totals={data.totals} /> : <Comparison data={data} nameOf={nameOf} />}
      <AnalyticsCharts data={data} search={search} narrow={narrow} released={released} nameOf={nameOf} />
      {data.routes.some(({ route }) => route !== '') && (
        <AnalyticsRoutes data={data} project={project} search={search} narrow={narrow} />
      )}
      {notes.length > 0 && (
        <ul className={styles.notes}>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Totals({ totals }: { readonly totals: Counts }) {
  const { requests, failures, cpuMs, firstByteMs, answerMs } = totals;
  const facts = [
    ['Requests', countText(requests)],
    ['Failed', failures === 0 ? '0' : `${countText(failures)} (${shareText(failures / requests)})`],
    ['First byte p50 / p95 / p99', quantilesText(firstByteMs)],
    ['Whole response p50 / p95 / p99', quantilesText(answerMs)],
    ['CPU per request', cpuText(cpuMs / requests)],
  ];
  return (
    <dl className={styles.totals}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const quantilesText = (latency: Counts['firstByteMs']): string =>
  latency === null ? '–' : [latency.p50, latency.p95, latency.p99].map(latencyText).join(' / ');

/** Deployments with requests, the last released first, then others. */
function servedOf({ deployments }: Analytics, released: readonly Deployment[]): readonly string[] {
  const ids = deployments.map(({ deploymentId }) => deploymentId);
  const inOrder = released.map(({ id }) => id).filter((id) => ids.includes(id));
  return [...inOrder, ...ids.filter((id) => !inOrder.includes(id))];
}

/** Title and commit of a deployment, or its id. */
function nameIn(deployments: readonly Deployment[], id: string): string {
  const found = deployments.find((one) => one.id === id);
  return found === undefined ? id : `${found.commitSha?.slice(0, 7) ?? id} ${titleOf(found)}`;
}

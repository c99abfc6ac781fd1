// The last hour of a project on its overview: requests by status class, failures, latency and CPU, with releases as
// marks. Each number links to the page with its details.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { Chart, type ChartProps } from '../../components/chart.tsx';
import { Section } from '../../components/page.tsx';
import { countText, wholeText } from '../../components/text.ts';
import { latencyText } from '../../components/time.tsx';
import { ButtonLink } from '../../components/button.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { analyticsQuery, type Analytics, type RouteCounts } from '../../queries/analytics.ts';
import type { RouteOrder } from '../../queries/analytics-search.ts';
import type { Project } from '../../queries/account.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import {
  cpuLimit,
  cpuSeries,
  failureSeries,
  intervalsOf,
  latencySeries,
  statusSeries,
} from '../analytics/analytics-series.ts';
import { releaseMarks } from '../analytics/release-marks.ts';
import styles from './overview.module.css';

const CHART_PX = 96;

interface HealthProps {
  readonly project: Project;
}

export function Health({ project }: HealthProps) {
  const { data, error, refetch } = useQuery(analyticsQuery(project.id, {}));
  return (
    <Section
      title="Last hour"
      actions={
        <ButtonLink variant="ghost" size="small" to="/projects/$project/analytics" params={{ project: project.name }}>
          Analytics
        </ButtonLink>
      }
    >
      {data === undefined ? (
        <Unloaded what="the last hour" error={error} refetch={refetch} rows={4} />
      ) : (
        <Charts project={project} data={data} />
      )}
    </Section>
  );
}

function Charts({ project, data }: HealthProps & { readonly data: Analytics }) {
  const { totals, routes, cpuBudgetMs } = data;
  const drawn = useMemo(() => {
    const intervals = intervalsOf(data);
    return {
      times: intervals.times,
      status: statusSeries(intervals, data.totals),
      failures: failureSeries(intervals),
      latency: latencySeries(intervals, 'firstByteMs').filter(({ label }) => label !== 'p95'),
      cpu: cpuSeries(intervals),
      limit: cpuLimit(data.totals, data.cpuBudgetMs),
      // The marks have no labels, because there is no room for them.
      marks: releaseMarks(data.releases).map(({ at }) => ({ at, label: '' })),
    };
  }, [data]);
  const { times, marks } = drawn;
  const shared = { times, marks, height: CHART_PX };
  const slowest = most(routes, ({ firstByteMs }) => firstByteMs?.p99 ?? 0);
  const failing = most(routes, ({ failures }) => failures);
  const costliest = most(routes, ({ cpuMsMax }) => cpuMsMax);
  const latency = totals.firstByteMs;
  return (
    <div className={styles.charts}>
      <Card
        project={project.name}
        title="Requests"
        value={countText(totals.requests)}
        chart={{
          ...shared,
          label: 'Requests per minute by status class',
          format: wholeText,
          series: drawn.status,
          isStacked: true,
        }}
      >
        {totals.requests === 0 ? 'none yet' : `${countText(totals.status['2xx'])} with 2xx`}
      </Card>
      <Card
        project={project.name}
        title="Errors"
        order="errors"
        value={
          totals.failures === 0
            ? '0'
            : `${countText(totals.failures)} (${shareText(totals.failures / totals.requests)})`
        }
        chart={{ ...shared, label: 'Failed requests per minute', format: wholeText, series: drawn.failures }}
      >
        {failing !== null && (
          <>
            most:{' '}
            <Link
              className="link"
              to="/projects/$project/logs/requests"
              params={{ project: project.name }}
              search={{ outcome: 'failed', route: failing.route }}
            >
              <code>{failing.route}</code>
            </Link>{' '}
            {countText(failing.failures)}
          </>
        )}
      </Card>
      <Card
        project={project.name}
        title="Time to first byte"
        order="latency"
        value={latency === null ? '–' : `p99 ${latencyText(latency.p99)}`}
        chart={{
          ...shared,
          label: 'Time to first byte per minute: p50 and p99',
          format: latencyText,
          series: drawn.latency,
        }}
      >
        {latency !== null && `p50 ${latencyText(latency.p50)}`}
        {slowest !== null && (
          <>
            , slowest: <code>{slowest.route}</code> {latencyText(slowest.firstByteMs!.p99)}
          </>
        )}
      </Card>
      <Card
        project={project.name}
        title="CPU per request"
        order="cpu"
        value={totals.requests === 0 ? '–' : `max ${cpuText(totals.cpuMsMax)}`}
        chart={{
          ...shared,
          label: 'CPU of the most expensive request per minute',
          format: cpuText,
          series: drawn.cpu,
          ...(drawn.limit && { limit: drawn.limit }),
        }}
      >
        {totals.requests > 0 &&
          cpuBudgetMs > 0 &&
          `${shareText(totals.cpuMsMax / cpuBudgetMs)} of ${cpuText(cpuBudgetMs)}`}
        {costliest !== null && (
          <>
            , most: <code>{costliest.route}</code>
          </>
        )}
      </Card>
    </div>
  );
}

/** The route with the largest value; null if all values are 0. */
function most(routes: readonly RouteCounts[], read: (route: RouteCounts) => number): RouteCounts | null {
  const first = routes.toSorted((one, other) => read(other) - read(one))[0];
  return first === undefined || read(first) === 0 ? null : first;
}

interface CardProps {
  readonly project: string;
  readonly title: string;
  readonly value: string;
  /** Sort order of the routes on the linked page. */
  readonly order?: RouteOrder;
  readonly chart: ChartProps;
  readonly children: ReactNode;
}

function Card({ project, title, value, order, chart, children }: CardProps) {
  return (
    <div className={styles.chart}>
      <h3>
        <Link to="/projects/$project/analytics" params={{ project }} search={order === undefined ? {} : { order }}>
          {title}
        </Link>
      </h3>
      <p className={styles.value}>{value}</p>
      <p className={styles.detail}>{children}</p>
      <Chart {...chart} />
    </div>
  );
}

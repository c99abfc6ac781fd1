// Charts of analytics. They mark releases, show both deployments if two are compared, and select a period by dragging.
import { useMemo } from 'react';
import { Chart, type ChartProps } from '../../components/chart.tsx';
import { Section } from '../../components/page.tsx';
import { wholeText } from '../../components/text.ts';
import { durationText, latencyText } from '../../components/time.tsx';
import type { Analytics } from '../../queries/analytics.ts';
import type { AnalyticsSearch, NarrowAnalytics } from '../../queries/analytics-search.ts';
import type { Deployment } from '../../queries/deployments.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import {
  comparedSeries,
  cpuLimit,
  cpuSeries,
  failureSeries,
  intervalsOf,
  latencySeries,
  outcomeSeries,
  statusSeries,
} from './analytics-series.ts';
import { releaseMarks } from './release-marks.ts';
import styles from './usage.module.css';

interface ChartsProps {
  readonly data: Analytics;
  readonly search: AnalyticsSearch;
  readonly narrow: NarrowAnalytics;
  readonly released: readonly Deployment[];
  readonly nameOf: (deploymentId: string) => string;
}

type Drawn = readonly [title: string, chart: Pick<ChartProps, 'series' | 'format' | 'isStacked' | 'limit'>];

export function AnalyticsCharts({ data, search, narrow, released, nameOf }: ChartsProps) {
  const isHttp = (search.kind ?? 'http') === 'http';
  // `min`, not `1 min 0 s`.
  const step = durationText(data.stepMs)
    .replace(/ 0 \w+$/, '')
    .replace(/^1 /, '');
  const drawn = useMemo(() => {
    const intervals = intervalsOf(data);
    const marks = releaseMarks(data.releases);
    const charts = data.compared === null ? chartsOf(data, isHttp, step) : comparedCharts(data, nameOf, step);
    return { times: intervals.times, marks, charts };
    // `nameOf` reads `released`.
  }, [data, released, isHttp, step]);
  const select = (from: number, to: number): void =>
    narrow({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });
  return (
    <div className={styles.charts}>
      {drawn.charts.map(([title, chart]) => (
        <Section key={title} title={title}>
          <Chart label={title} times={drawn.times} marks={drawn.marks} onRange={select} {...chart} />
        </Section>
      ))}
    </div>
  );
}

function chartsOf(data: Analytics, isHttp: boolean, step: string): Drawn[] {
  const intervals = intervalsOf(data);
  const limit = cpuLimit(data.totals, data.cpuBudgetMs);
  const requests = isHttp ? statusSeries(intervals, data.totals) : outcomeSeries(intervals);
  return [
    [
      isHttp ? `Requests by status, per ${step}` : `Invocations per ${step}`,
      { series: requests, isStacked: true, format: wholeText },
    ],
    [`Failures per ${step}`, { series: failureSeries(intervals), format: wholeText }],
    ...(isHttp
      ? ([['Time to first byte', { series: latencySeries(intervals, 'firstByteMs'), format: latencyText }]] as const)
      : []),
    [
      isHttp ? 'Time to the whole response' : 'Duration',
      { series: latencySeries(intervals, 'answerMs'), format: latencyText },
    ],
    [
      isHttp ? 'CPU of the most expensive request' : 'CPU of the most expensive invocation',
      { series: cpuSeries(intervals), format: cpuText, ...(limit && { limit }) },
    ],
  ];
}

function comparedCharts(data: Analytics, nameOf: (id: string) => string, step: string): Drawn[] {
  const both = (read: Parameters<typeof comparedSeries>[2]) => comparedSeries(data, nameOf, read);
  return [
    [`Requests per ${step}`, { series: both(({ requests }) => requests), format: wholeText }],
    ['Failure rate', { series: both(({ failures, requests }) => failures / requests), format: shareText }],
    ['Time to first byte, p99', { series: both(({ firstByteMs }) => firstByteMs?.p99 ?? null), format: latencyText }],
    ['CPU per request', { series: both(({ cpuMs, requests }) => cpuMs / requests), format: cpuText }],
  ];
}

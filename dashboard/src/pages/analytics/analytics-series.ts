// Converts analytics of the API to series of charts: one value for each interval, even without requests. Pure.
import type { Series } from '../../components/chart-series.ts';
import type { Compared, Counts, Measured } from '../../queries/analytics-counts.ts';

/** The intervals of a response; the first begins at the start of the period. */
interface Intervals {
  /** Ms since 1970. */
  readonly times: readonly number[];
  /** One value for each interval. @param none the value for intervals without requests */
  of<Value>(read: (counts: Counts) => Value, none: Value): Value[];
}

/** The intervals of a time that have begun. */
export function intervalsOf({ from, to, stepMs, series }: Measured, now = Date.now()): Intervals {
  const first = Date.parse(from);
  const count = Math.max(0, Math.ceil((Math.min(Date.parse(to), now) - first) / stepMs));
  const times = Array.from({ length: count }, (_, at) => first + at * stepMs);
  const byTime = new Map(series.map((item) => [Date.parse(item.at), item]));
  return {
    times,
    of: (read, none) =>
      times.map((at) => {
        const counts = byTime.get(at);
        return counts === undefined ? none : read(counts);
      }),
  };
}

const statusColors = {
  '2xx': '--chart-first',
  '3xx': '--chart-soft',
  '4xx': '--chart-second',
  '5xx': '--chart-failed',
  other: '--chart-axis',
} as const;
type StatusClass = keyof typeof statusColors;
const statusClasses = Object.keys(statusColors) as StatusClass[];

/** Requests by status class, to be stacked. Classes without requests are left out, except 2xx. */
export function statusSeries({ of }: Intervals, totals: Counts): Series[] {
  return statusClasses
    .filter((name) => name === '2xx' || totals.status[name] > 0)
    .map((name) => ({
      label: name === 'other' ? 'Other' : name,
      color: statusColors[name],
      values: of((counts) => counts.status[name], 0),
      isBars: true,
    }));
}

/** Events that are not requests have no status: the series are failed events and all others. */
export function outcomeSeries({ of }: Intervals): Series[] {
  return [
    {
      label: 'OK',
      color: '--chart-first',
      values: of(({ requests, failures }) => requests - failures, 0),
      isBars: true,
    },
    { label: 'Failed', color: '--chart-failed', values: of(({ failures }) => failures, 0), isBars: true },
  ];
}

export function failureSeries({ of }: Intervals): Series[] {
  return [{ label: 'Failed', color: '--chart-failed', values: of(({ failures }) => failures, 0), isBars: true }];
}

/** p50, p95 and p99. */
export function latencySeries({ of }: Intervals, name: 'firstByteMs' | 'answerMs'): Series[] {
  const colors = { p50: '--chart-soft', p95: '--chart-first', p99: '--chart-second' } as const;
  return (['p50', 'p95', 'p99'] as const).map((quantile) => ({
    label: quantile,
    color: colors[quantile],
    values: of((counts) => counts[name]?.[quantile] ?? null, null),
  }));
}

/** CPU of the most expensive invocation of each interval. */
export function cpuSeries({ of }: Intervals): Series[] {
  return [{ label: 'Max', color: '--chart-second', values: of(({ cpuMsMax }): number | null => cpuMsMax, null) }];
}

/**
 * Above this share of the budget, a chart of CPU shows the limit: below it, the limit would make the CPU a flat line.
 */
const LIMIT_SHOWN_FROM = 0.25;

export function cpuLimit({ cpuMsMax }: Counts, budgetMs: number) {
  return budgetMs > 0 && cpuMsMax >= budgetMs * LIMIT_SHOWN_FROM ? { value: budgetMs, label: 'Limit' } : undefined;
}

/** A line for the selected deployment, and a line for the compared one. */
export function comparedSeries(
  data: Compared,
  nameOf: (deploymentId: string) => string,
  read: (counts: Counts) => number | null,
): Series[] {
  const { compared, deploymentId } = data;
  const lineOf = (id: string, color: string, series: Measured['series']): Series => ({
    label: nameOf(id),
    color,
    values: intervalsOf({ ...data, series }).of(read, null),
  });
  return [
    lineOf(deploymentId ?? 'All', '--chart-first', data.series),
    ...(compared === null ? [] : [lineOf(compared.deploymentId, '--chart-second', compared.series)]),
  ];
}

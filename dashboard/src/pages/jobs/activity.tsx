// What ran for a binding of production or of a preview in the last 24 hours: how often, how long, how many failed.
// Counts invocations of a queue, timer or workflow, and calls of workers to a database, state or files.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { MeasuredKind } from '#core/bindings/kinds.ts';
import { api, dataOf } from '../../api/client.ts';
import { Chart } from '../../components/chart.tsx';
import { countText, shortCountText } from '../../components/text.ts';
import { branchOf, resourcesQuery, type BindingPlace } from '../../queries/resources.ts';
import type { Kind } from '../../queries/usage-search.ts';
import { cpuText, shareText } from '../../queries/usage.ts';
import { mode } from '../../state/mode.ts';
import styles from '../storage/storage.module.css';
import { bytesText } from '../storage/value.tsx';

const STALE_MS = 30_000;
const CHART_PX = 110;

interface ActivityProps {
  readonly place: BindingPlace;
  readonly kind: Exclude<Kind, 'http'> | MeasuredKind;
  /** What is counted: "Deliveries". */
  readonly title: string;
  /** What the resource stores. */
  readonly size?: { readonly name: string; readonly bytes: number } | null;
}

/** Renders nothing in `platform dev`, which stores no usage. */
export function Activity(props: ActivityProps) {
  return mode === 'dev' ? null : <Shown {...props} />;
}

function Shown({ place, kind, title, size = null }: ActivityProps) {
  const { data: resources } = useQuery(resourcesQuery(place));
  const resource = resources?.items.find((one) => one.kind === kind && one.binding === place.binding)?.resource;
  // Invocations are counted by queue and by workflow, but by the binding of a timer.
  const route = kind === 'timer' ? place.binding : resource;
  const { data } = useQuery({
    queryKey: ['usage', place.id, place.branch, kind, route],
    queryFn: ({ signal }) =>
      dataOf(
        api.get('/projects/:id/analytics', {
          params: { id: place.id },
          query: { range: '24h', kind, route: route!, ...branchOf(place) },
          signal,
        }),
      ),
    enabled: route !== undefined,
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });
  const chart = useMemo(() => (data === undefined ? null : drawn(data)), [data]);
  if (data === undefined || chart === null || (data.totals.requests === 0 && size === null)) return null;
  const { requests, failures, answerMs } = data.totals;
  const facts = [
    [`${title} in 24 hours`, countText(requests)],
    ['Failed', failures === 0 ? '0' : `${countText(failures)} (${shareText(failures / requests)})`],
    ['Duration, p50', answerMs === null ? '–' : cpuText(answerMs.p50)],
    ['Duration, p99', answerMs === null ? '–' : cpuText(answerMs.p99)],
    ...(size === null ? [] : [[size.name, bytesText(size.bytes)]]),
  ];
  const { times, ok, failed } = chart;
  return (
    <>
      <dl className={styles.stats}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {requests > 0 && (
        <Chart
          label={`${title} in 24 hours`}
          height={CHART_PX}
          times={times}
          format={shortCountText}
          series={[
            { label: 'OK', color: '--chart-first', values: ok, isBars: true },
            { label: 'Failed', color: '--chart-failed', values: failed, isBars: true },
          ]}
        />
      )}
    </>
  );
}

interface Analytics {
  readonly from: string;
  readonly to: string;
  readonly stepMs: number;
  readonly series: readonly { readonly at: string; readonly requests: number; readonly failures: number }[];
}

/** One value for each interval; the API omits intervals without values. */
function drawn({ from, to, stepMs, series }: Analytics) {
  const counted = new Map(series.map((one) => [Date.parse(one.at), one]));
  const times: number[] = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += stepMs) times.push(at);
  return {
    times,
    ok: times.map((at) => {
      const { requests = 0, failures = 0 } = counted.get(at) ?? {};
      return requests - failures;
    }),
    failed: times.map((at) => counted.get(at)?.failures ?? 0),
  };
}

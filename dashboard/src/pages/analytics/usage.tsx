// CPU and requests of a project or an organization against the plan's budget: a bar for each kind, charts with the
// limit, a table of routes sorted by share of the budget.
import { BarChartIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import { Chart } from '../../components/chart.tsx';
import { Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { countText, shortCountText } from '../../components/text.ts';
import { Filters, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { cpuText, shareText, usageQuery, type Usage, type UsageItem, type UsageOf } from '../../queries/usage.ts';
import { kinds, ranges, type Kind, type Range } from '../../queries/usage-search.ts';
import { routeText } from '../../queries/route-text.ts';
import styles from './usage.module.css';

/** Search parameters. */
export interface UsageSearch {
  readonly range?: Range | undefined;
  readonly kind?: Kind | undefined;
  /** The route whose most expensive invocations are shown. */
  readonly route?: string | undefined;
}

export const kindWords: Readonly<Record<Kind, string>> = {
  http: 'Requests',
  object: 'Object calls',
  queue: 'Queue messages',
  timer: 'Timers',
  cron: 'Schedules',
  workflow: 'Workflows',
};

interface UsageProps {
  readonly of: UsageOf;
  readonly search: UsageSearch;
  readonly onSearch: (search: UsageSearch) => void;
  /** Name of a project by its ID, for organizations. */
  readonly nameOf?: (projectId: string) => string;
  readonly onOpen?: (item: UsageItem) => void;
}

export function UsageView({ of, search, onSearch, nameOf, onOpen }: UsageProps) {
  const { range = 'day', kind = 'http' } = search;
  const byKind = useQuery(usageQuery(of, range, { groupBy: 'kind' }));
  const { data, error, refetch } = byKind;
  if (data === undefined) return <Unloaded what="the usage" error={error} refetch={refetch} />;
  const filters = (
    <Filters>
      <Select
        aria-label="Time range"
        value={range}
        onChange={({ target }) => onSearch({ ...search, range: target.value as Range })}
      >
        {Object.entries(ranges).map(([id, [words]]) => (
          <option key={id} value={id}>
            Last {words}
          </option>
        ))}
      </Select>
      <Select
        aria-label="Kind"
        value={kind}
        onChange={({ target }) => onSearch({ ...search, kind: target.value as Kind })}
      >
        {kinds.map((id) => (
          <option key={id} value={id}>
            {kindWords[id]}
          </option>
        ))}
      </Select>
    </Filters>
  );
  if (data.totals.invocations === 0)
    return (
      <>
        {filters}
        <EmptyState icon={<BarChartIcon />} title="No invocations in this period">
          Requests and events are counted as they end; they are here within ten seconds.
        </EmptyState>
      </>
    );
  return (
    <>
      {filters}
      <Totals usage={data} />
      <Section title={`CPU per invocation (limit of the ${data.budget.plan} plan)`}>
        <div className={styles.bars}>
          {data.items.map((item) => (
            <Budget key={item.kind} item={item} limit={data.budget.cpuMs[item.kind ?? ''] ?? 0} />
          ))}
        </div>
      </Section>
      <Charts of={of} range={range} kind={kind} />
      <Routes of={of} range={range} kind={kind} {...(nameOf && { nameOf })} {...(onOpen && { onOpen })} />
    </>
  );
}

export function Totals({ usage }: { readonly usage: Usage }) {
  const { invocations, failures, cpuMs, hostCpuMs } = usage.totals;
  const facts = [
    ['Invocations', countText(invocations)],
    ['Failed', failures === 0 ? '0' : `${countText(failures)} (${shareText(failures / invocations)})`],
    ['CPU', cpuText(cpuMs + hostCpuMs)],
    ['Average CPU per invocation', cpuText((cpuMs + hostCpuMs) / invocations)],
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

const toneOf = (share: number): 'ok' | 'warning' | 'failed' =>
  share >= 0.9 ? 'failed' : share >= 0.6 ? 'warning' : 'ok';
const within = (share: number): string => `${Math.min(100, Math.max(share * 100, 0.5))}%`;

function Budget({ item, limit }: { readonly item: UsageItem; readonly limit: number }) {
  const share = limit === 0 ? 0 : item.cpuMsMax / limit;
  const words = kindWords[(item.kind ?? 'http') as Kind];
  return (
    <Meter
      name={words}
      share={share}
      note={limit === 0 ? 'no limit' : `max ${shareText(share)}`}
      label={`${words}: maximum ${shareText(share)} of ${cpuText(limit)}`}
    >
      <span>p50 {cpuText(item.cpuMsP50)}</span>
      <span>p99 {cpuText(item.cpuMsP99)}</span>
      <span>max {cpuText(item.cpuMsMax)}</span>
      <span>limit {limit === 0 ? 'none' : cpuText(limit)}</span>
    </Meter>
  );
}

interface MeterProps {
  readonly name: string;
  /** The used share, 0 to 1; larger values are drawn as 1. */
  readonly share: number;
  /** Beside the name. */
  readonly note: string;
  /** Text that describes the bar. */
  readonly label: string;
  /** Below the bar. */
  readonly children: ReactNode;
}

/** A bar that shows how much of a limit is used. */
export function Meter({ name, share, note, label, children }: MeterProps) {
  return (
    <div className={styles.budget}>
      <div className={styles.top}>
        <strong>{name}</strong>
        <span className={styles.share}>{note}</span>
      </div>
      <div className={styles.track} role="img" aria-label={label}>
        <div className={styles.fill} data-tone={toneOf(share)} style={{ width: within(share) }} />
      </div>
      <div className={styles.small}>{children}</div>
    </div>
  );
}

interface PartProps {
  readonly of: UsageOf;
  readonly range: Range;
  readonly kind: Kind;
}

export function Charts({ of, range, kind }: PartProps) {
  const [, hours, step] = ranges[range];
  const { data } = useQuery(usageQuery(of, range, { groupBy: step, kind }));
  const drawn = useMemo(() => (data === undefined ? null : seriesOf(data, step, hours)), [data, step, hours]);
  if (drawn === null || data === undefined) return <SkeletonRows rows={4} />;
  const limit = data.budget.cpuMs[kind] ?? 0;
  const { times, worst, p99 } = drawn;
  return (
    <div className={styles.charts}>
      <Section title={`${kindWords[kind]} per ${step}`}>
        <Chart
          label={`${kindWords[kind]} per ${step}`}
          times={times}
          format={shortCountText}
          series={drawn.requests}
          isStacked
        />
      </Section>
      <Section title="CPU per invocation">
        <Chart
          label={`Maximum CPU per invocation by ${step}, with the limit of the plan`}
          times={times}
          format={cpuText}
          {...(limit > 0 && { limit: { value: limit, label: 'Limit' } })}
          series={[
            { label: 'Max', color: '--chart-second', values: worst, isBars: true },
            { label: 'p99', color: '--chart-first', values: p99, isBars: true },
          ]}
        />
      </Section>
    </div>
  );
}

const HOUR_MS = 3_600_000;

/** One value for each hour or day of the period; zero without invocations. */
function seriesOf({ items, to }: Usage, step: 'hour' | 'day', hours: number) {
  const ms = step === 'hour' ? HOUR_MS : 24 * HOUR_MS;
  const last = Math.floor((Date.parse(to) - 1) / ms) * ms;
  const count = step === 'hour' ? hours : hours / 24;
  const times = Array.from({ length: count }, (_, at) => last - (count - 1 - at) * ms);
  const byTime = new Map(items.map((item) => [Date.parse(item.at ?? ''), item]));
  const of = <Value,>(read: (item: UsageItem) => Value, none: Value): Value[] =>
    times.map((at) => {
      const item = byTime.get(at);
      return item === undefined ? none : read(item);
    });
  return {
    times,
    requests: [
      { label: 'OK', color: '--chart-first', values: of((item) => item.invocations - item.failures, 0), isBars: true },
      { label: 'Failed', color: '--chart-failed', values: of((item) => item.failures, 0), isBars: true },
    ],
    worst: of((item): number | null => item.cpuMsMax, null),
    p99: of((item) => item.cpuMsP99, null),
  };
}

function Routes({ of, range, kind, nameOf, onOpen }: PartProps & Pick<UsageProps, 'nameOf' | 'onOpen'>) {
  const { data, error, refetch } = useQuery(usageQuery(of, range, { groupBy: 'route', kind }));
  if (data === undefined) return <Unloaded what="the routes" error={error} refetch={refetch} />;
  const limit = data.budget.cpuMs[kind] ?? 0;
  const rows = data.items.toSorted((one, other) => other.cpuMsMax - one.cpuMsMax);
  const columns: readonly Column<UsageItem>[] = [
    ...(nameOf === undefined
      ? []
      : [
          {
            id: 'project',
            header: 'Project',
            cell: (item: UsageItem) => <strong>{nameOf(item.projectId ?? '')}</strong>,
          },
        ]),
    {
      id: 'route',
      header: kind === 'http' ? 'Route' : 'Name',
      phone: 'first',
      cell: ({ route }) => (
        <span className={styles.route} title={route ?? undefined}>
          {route === '' || route === null ? kindWords[kind] : routeText(route)}
        </span>
      ),
    },
    {
      id: 'count',
      header: kind === 'http' ? 'Requests' : 'Runs',
      align: 'end',
      isFitted: true,
      cell: (item) => countText(item.invocations),
    },
    {
      id: 'failures',
      header: 'Failed',
      align: 'end',
      isFitted: true,
      cell: (item) =>
        item.failures === 0 ? '0' : <span style={{ color: 'var(--failed)' }}>{countText(item.failures)}</span>,
    },
    {
      id: 'p50',
      header: 'p50',
      align: 'end',
      isFitted: true,
      phone: 'hidden',
      cell: (item) => cpuText(item.cpuMsP50),
    },
    {
      id: 'p99',
      header: 'p99',
      align: 'end',
      isFitted: true,
      phone: 'hidden',
      cell: (item) => cpuText(item.cpuMsP99),
    },
    { id: 'worst', header: 'Max', align: 'end', isFitted: true, cell: (item) => cpuText(item.cpuMsMax) },
    {
      id: 'share',
      header: 'Budget used',
      align: 'end',
      isFitted: true,
      phone: 'first-end',
      cell: (item) => <Share share={limit === 0 ? null : item.cpuMsMax / limit} />,
    },
  ];
  return (
    <Section title={kind === 'http' ? 'Routes by budget used' : 'By budget used'}>
      {rows.length === 0 ? (
        <EmptyState title={`No ${kindWords[kind].toLowerCase()} in this period`} />
      ) : (
        <Table
          label="Routes"
          columns={columns}
          rows={rows}
          rowKey={(item) => `${item.projectId} ${item.kind} ${item.route}`}
          {...(onOpen && { onOpen })}
        />
      )}
    </Section>
  );
}

export function Share({ share }: { readonly share: number | null }) {
  if (share === null) return <>no limit</>;
  return (
    <span className={styles.meter}>
      <span className={styles.track} aria-hidden>
        <span className={styles.fill} data-tone={toneOf(share)} style={{ width: within(share), display: 'block' }} />
      </span>
      {shareText(share)}
    </span>
  );
}

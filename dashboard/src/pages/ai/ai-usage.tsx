// Tokens, cost and failures of the AI calls of a project or an organization: in total, by time and by model.
import { MagicWandIcon } from '@radix-ui/react-icons';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Chart } from '../../components/chart.tsx';
import { Select } from '../../components/field.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Filters, Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { countText, sentenceText, shortCountText } from '../../components/text.ts';
import { durationText } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import {
  aiUsageQuery,
  costText,
  type AiGroup,
  type AiSearch,
  type AiUsage,
  type AiUsageItem,
} from '../../queries/ai.ts';
import { type UsageOf } from '../../queries/usage.ts';
import { ranges, type Range } from '../../queries/usage-search.ts';
import styles from '../analytics/usage.module.css';
import { AiMonth } from './ai-month.tsx';

interface AiUsageProps {
  readonly of: UsageOf;
  readonly search: AiSearch;
  readonly onSearch: (search: AiSearch) => void;
  /** Further tables: dimension, title, and label of a group. */
  readonly groups?: readonly (readonly [by: AiGroup, title: string, nameOf: (id: string) => string])[];
}

const asItIs = (id: string): string => id;

export function AiUsageView({ of, search, onSearch, groups = [] }: AiUsageProps) {
  const { range = 'day' } = search;
  const { data, error, refetch } = useQuery(aiUsageQuery(of, range, 'model'));
  if (data === undefined) return <Unloaded what="the usage" error={error} refetch={refetch} />;
  return (
    <>
      <AiMonth of={of} />
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
      </Filters>
      {data.totals.calls === 0 ? (
        <EmptyState icon={<MagicWandIcon />} title="No AI calls in this period">
          A worker with <code>ai: true</code> in platform.yaml calls models with <code>env.AI.run('auto', inputs)</code>
          .
        </EmptyState>
      ) : (
        <>
          <Totals usage={data} />
          <Tokens of={of} range={range} />
          <Groups
            items={data.items}
            title="Models"
            heading="Model"
            nameOf={asItIs}
            onOpen={(model) => onSearch({ ...search, model })}
          />
          {groups.map(([by, title, nameOf]) => (
            <Grouped key={by} of={of} range={range} by={by} title={title} nameOf={nameOf} />
          ))}
        </>
      )}
    </>
  );
}

function Totals({ usage: { totals } }: { readonly usage: AiUsage }) {
  const { calls, failures, promptTokens, completionTokens, costMicros, unpriced, firstByteMsP50, firstByteMsP99 } =
    totals;
  const facts = [
    ['Calls', countText(calls)],
    ['Failed', countText(failures)],
    ['Prompt tokens', countText(promptTokens)],
    ['Completion tokens', countText(completionTokens)],
    ['Cost', unpriced === calls ? 'no prices' : costText(costMicros)],
    [
      'Time to first token',
      firstByteMsP50 === null ? '–' : `p50 ${durationText(firstByteMsP50)}, p99 ${durationText(firstByteMsP99!)}`,
    ],
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

const HOUR_MS = 3_600_000;

function Tokens({ of, range }: { readonly of: UsageOf; readonly range: Range }) {
  const [, hours, step] = ranges[range];
  const { data } = useQuery(aiUsageQuery(of, range, step));
  const drawn = useMemo(() => {
    if (data === undefined) return null;
    const ms = step === 'hour' ? HOUR_MS : 24 * HOUR_MS;
    const last = Math.floor((Date.parse(data.to) - 1) / ms) * ms;
    const count = step === 'hour' ? hours : hours / 24;
    const times = Array.from({ length: count }, (_, at) => last - (count - 1 - at) * ms);
    const byTime = new Map(data.items.map((item) => [Date.parse(item.at ?? ''), item]));
    const of = (read: (item: AiUsageItem) => number): number[] =>
      times.map((at) => {
        const item = byTime.get(at);
        return item === undefined ? 0 : read(item);
      });
    return { times, prompts: of((item) => item.promptTokens), answers: of((item) => item.completionTokens) };
  }, [data, step, hours]);
  if (drawn === null) return <SkeletonRows rows={4} />;
  return (
    <Section title={`Tokens per ${step}`}>
      <Chart
        label={`Tokens per ${step}`}
        times={drawn.times}
        format={shortCountText}
        series={[
          { label: 'Prompts', color: '--chart-first', values: drawn.prompts, isBars: true },
          { label: 'Completions', color: '--chart-second', values: drawn.answers, isBars: true },
        ]}
      />
    </Section>
  );
}

interface GroupedProps {
  readonly of: UsageOf;
  readonly range: Range;
  readonly by: AiGroup;
  readonly title: string;
  readonly nameOf: (id: string) => string;
}

function Grouped({ of, range, by, title, nameOf }: GroupedProps) {
  const { data } = useQuery(aiUsageQuery(of, range, by));
  return data === undefined ? (
    <SkeletonRows rows={2} />
  ) : (
    <Groups items={data.items} title={title} heading={sentenceText(by)} nameOf={nameOf} />
  );
}

interface GroupsProps {
  readonly items: readonly AiUsageItem[];
  readonly title: string;
  /** Heading of the column with the names. */
  readonly heading: string;
  readonly nameOf: (id: string) => string;
  readonly onOpen?: (group: string) => void;
}

function Groups({ items, title, heading, nameOf, onOpen }: GroupsProps) {
  const columns: readonly Column<AiUsageItem>[] = [
    {
      id: 'group',
      header: heading,
      phone: 'first',
      cell: ({ group }) => (group === null ? 'none' : <span className={styles.route}>{nameOf(group)}</span>),
    },
    { id: 'calls', header: 'Calls', align: 'end', isFitted: true, cell: ({ calls }) => countText(calls) },
    {
      id: 'failed',
      header: 'Failed',
      align: 'end',
      isFitted: true,
      phone: 'hidden',
      cell: ({ failures }) => countText(failures),
    },
    {
      id: 'prompts',
      header: 'Prompt tokens',
      align: 'end',
      isFitted: true,
      cell: ({ promptTokens }) => countText(promptTokens),
    },
    {
      id: 'answers',
      header: 'Completion tokens',
      align: 'end',
      isFitted: true,
      cell: ({ completionTokens }) => countText(completionTokens),
    },
    {
      id: 'cost',
      header: 'Cost',
      align: 'end',
      isFitted: true,
      phone: 'first-end',
      cell: ({ costMicros, unpriced, calls }) => (unpriced === calls ? 'no price' : costText(costMicros)),
    },
  ];
  return (
    <Section title={title}>
      <Table
        label={title}
        columns={columns}
        rows={items}
        rowKey={({ group }) => group ?? ''}
        {...(onOpen && { onOpen: ({ group }: AiUsageItem) => onOpen(group ?? '') })}
      />
    </Section>
  );
}

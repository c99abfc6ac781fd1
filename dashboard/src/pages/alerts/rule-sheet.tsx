// Details of an alert rule: a graph of what it measures with the threshold, and its settings.
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Button } from '../../components/button.tsx';
import { Chart } from '../../components/chart.tsx';
import { Sheet } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/notice.tsx';
import { Facts } from '../../components/page.tsx';
import { State, type Tone } from '../../components/state.tsx';
import { Time } from '../../components/time.tsx';
import { Unloaded } from '../../components/unloaded.tsx';
import { eventsQuery, seriesQuery, type AlertEvent, type Channel, type Rule } from './alert-calls.ts';
import { ruleKinds } from './alert-forms.tsx';
import { graphOf } from './rule-graph.ts';

export const ruleStates: Readonly<Record<Rule['state'], readonly [tone: Tone, word: string]>> = {
  ok: ['ok', 'OK'],
  firing: ['failed', 'Firing'],
  off: ['neutral', 'Disabled'],
};
export const eventTypes: Readonly<Record<AlertEvent['type'], readonly [tone: Tone, word: string]>> = {
  fired: ['failed', 'Fired'],
  resolved: ['ok', 'Resolved'],
  test: ['neutral', 'Test'],
};

interface RuleSheetProps {
  /** Id of the project; null for the operator's rules. */
  readonly projectId: string | null;
  readonly rule: Rule;
  readonly channels: readonly Channel[];
  readonly onEdit: () => void;
  readonly onClose: () => void;
}

export function RuleSheet({ projectId, rule, channels, onEdit, onClose }: RuleSheetProps) {
  const { kind, name, threshold, clearBelow, evaluations, quietMinutes, windowMinutes, state, message } = rule;
  const { at, format, hasWindow, clearsBelow } = ruleKinds[kind];
  const notified = channels.filter(({ id }) => rule.channels.includes(id)).map((channel) => channel.name);
  return (
    <Sheet
      isOpen
      onClose={onClose}
      title={name}
      description={at(threshold)}
      footer={<Button onClick={onEdit}>Edit rule</Button>}
    >
      <Graph projectId={projectId} rule={rule} />
      <Facts
        facts={[
          [
            'Status',
            <State key="state" tone={ruleStates[state][0]}>
              {ruleStates[state][1]}
            </State>,
          ],
          ['Last value', message === '' ? null : message],
          ['Evaluated', rule.evaluatedAt === null ? null : <Time key="evaluated" at={rule.evaluatedAt} />],
          ['Last fired', rule.firedAt === null ? null : <Time key="fired" at={rule.firedAt} />],
          ['Resolves below', clearsBelow ? format(clearBelow) : null],
          ['Window', hasWindow ? `${windowMinutes} min` : null],
          ['Consecutive evaluations', String(evaluations)],
          ['Quiet time', `${quietMinutes} min`],
          ['Channels', notified.length === 0 ? 'none' : notified.join(', ')],
        ]}
      />
    </Sheet>
  );
}

function Graph({ projectId, rule }: Pick<RuleSheetProps, 'projectId' | 'rule'>) {
  const { id, kind, threshold } = rule;
  const { unit, format } = ruleKinds[kind];
  const { data, error, refetch } = useQuery(seriesQuery(projectId, id));
  const { data: events } = useInfiniteQuery(eventsQuery(projectId));
  const graph = useMemo(
    () => (data == null ? null : graphOf(data, events?.pages.flatMap(({ items }) => items) ?? [], id)),
    [data, events, id],
  );
  if (data === undefined) return <Unloaded what="the graph" error={error} refetch={refetch} rows={4} />;
  if (graph === null)
    return <EmptyState title="No graph">Only the last value is stored, since this rule has no window.</EmptyState>;
  if (graph.values.every((value) => value === null))
    return <EmptyState title="Nothing measured yet">The rule needs at least ten invocations in a window.</EmptyState>;
  return (
    <Chart
      label={`${unit} in each window, with the threshold of ${format(threshold)}`}
      times={graph.times}
      format={format}
      limit={{ value: threshold, label: 'Threshold' }}
      marks={graph.marks}
      series={[{ label: unit, color: '--chart-first', values: graph.values }]}
    />
  );
}

// The graph of an alert rule: its value in each window, and when it fired and resolved. Pure.
import type { Mark } from '../../components/chart-series.ts';

/** Values of consecutive windows; windows without a value are omitted. */
interface Measured {
  readonly from: string;
  readonly to: string;
  readonly stepMs: number;
  readonly items: readonly { readonly at: string; readonly value: number }[];
}

interface RuleEvent {
  readonly ruleId: string | null;
  readonly type: 'fired' | 'resolved' | 'test';
  readonly createdAt: string;
}

interface RuleGraph {
  /** Ms since 1970. */
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  readonly marks: readonly Mark[];
}

/** @param events events of all rules; events of other rules and times are omitted. */
export function graphOf(
  { from, to, stepMs, items }: Measured,
  events: readonly RuleEvent[],
  ruleId: string,
): RuleGraph {
  const [first, end] = [Date.parse(from), Date.parse(to)];
  // Includes the end of the last window, in which the rule may just have fired.
  const times = Array.from({ length: Math.round((end - first) / stepMs) + 1 }, (_, at) => first + at * stepMs);
  const byTime = new Map(items.map(({ at, value }) => [Date.parse(at), value]));
  const marks = events
    .filter((event) => event.ruleId === ruleId && event.type !== 'test')
    .map(({ type, createdAt }) => ({ at: Date.parse(createdAt), label: type }))
    .filter(({ at }) => at >= first && at < end);
  return { times, values: times.map((at) => byTime.get(at) ?? null), marks };
}

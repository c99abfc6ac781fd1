// Compares the numbers of two deployments. Pure.
import type { Counts } from '../../queries/analytics-counts.ts';

/** A number of both deployments; null if nothing was measured. */
export interface ComparedNumber {
  readonly name: string;
  readonly unit: 'count' | 'share' | 'latency' | 'cpu';
  readonly before: number | null;
  readonly after: number | null;
  /** Relative change; null if there is no value to compare with. */
  readonly change: number | null;
}

const measures: readonly (readonly [
  name: string,
  unit: ComparedNumber['unit'],
  read: (counts: Counts) => number | null,
])[] = [
  ['Requests', 'count', ({ requests }) => requests],
  ['Failed', 'share', ({ requests, failures }) => (requests === 0 ? null : failures / requests)],
  ['First byte, p50', 'latency', ({ firstByteMs }) => firstByteMs?.p50 ?? null],
  ['First byte, p95', 'latency', ({ firstByteMs }) => firstByteMs?.p95 ?? null],
  ['First byte, p99', 'latency', ({ firstByteMs }) => firstByteMs?.p99 ?? null],
  ['Whole response, p99', 'latency', ({ answerMs }) => answerMs?.p99 ?? null],
  ['CPU per request', 'cpu', ({ requests, cpuMs }) => (requests === 0 ? null : cpuMs / requests)],
];

/** @param before the counts of the deployment to compare with. @param after value of the selected deployment. */
export function compareCounts(before: Counts, after: Counts): ComparedNumber[] {
  return measures.map(([name, unit, read]) => {
    const [one, other] = [read(before), read(after)];
    const change = one === null || other === null || one === 0 ? null : other / one - 1;
    return { name, unit, before: one, after: other, change };
  });
}

/** Smaller changes than this are noise. */
const CHANGE_MIN = 0.1;

/** Whether a change is good or bad; more requests are neither. */
export function verdictOf({ unit, before, after, change }: ComparedNumber): 'better' | 'worse' | null {
  if (unit === 'count' || before === null || after === null) return null;
  if (change === null) return before === 0 && after > 0 ? 'worse' : null;
  if (Math.abs(change) < CHANGE_MIN) return null;
  return change > 0 ? 'worse' : 'better';
}

/** @example changeText(0.123) // '+12 %' */
export function changeText(change: number | null): string {
  if (change === null) return '';
  const percent = Math.round(change * 100);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${Math.abs(percent)} %`;
}

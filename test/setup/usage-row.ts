// Rows of usage as engines report them, for tests of the control plane.
import { NO_COUNTS } from '#core/histogram.ts';
import type { TimedUsageRow } from '#core/usage-row.ts';

const startOf = (ms: number): string => new Date(Math.floor(Date.now() / ms) * ms).toISOString();

/** A row of this minute without invocations, with other values for some fields. */
export function usageRow(project: string, more: Partial<TimedUsageRow> = {}): TimedUsageRow {
  return {
    project,
    deployment: 'd1',
    kind: 'http',
    route: '/',
    hour: startOf(3_600_000),
    minute: startOf(60_000),
    invocations: 0,
    failures: 0,
    statuses: [0, 0, 0, 0, 0],
    cpuMs: 0,
    hostCpuMs: 0,
    cpuMsMax: 0,
    cpuCounts: [],
    firstByte: NO_COUNTS,
    answer: NO_COUNTS,
    costliest: [],
    ...more,
  };
}

// Judges a step of a guarded release by its metrics: whether the new deployment is worse than the previous one by more
// than its limits allow, and by more than chance explains. Pure. Called by ../judge-next.ts.
import { bucketOf, latencyOf, latencyScale, type SparseCounts } from '#core/histogram.ts';
import { limitsOf, type ReleaseSettings } from '#core/release-settings.ts';
import type { Figures, StepFigures } from './figures.ts';

/** The next action of a guarded release, and its reason as a sentence for people. */
export interface Verdict {
  readonly action: 'wait' | 'advance' | 'roll_back';
  readonly reason: string;
}

/** Measured requests that a step needs before it ends. With fewer requests, the step is extended. */
const REQUESTS_MIN = 100;
/** A step takes at most this many times its minutes; then the release continues with the available metrics. */
const EXTENSION_MAX = 6;
/** With fewer requests, no result is significant. */
const CERTAIN_MIN = 30;
/** Fewer failed or slow requests are always attributed to chance. */
const COUNT_MIN = 3;
/** Smaller differences do not count: in ms of latency and of CPU per request. */
const [LATENCY_MS_MIN, CPU_MS_MIN] = [10, 2];
/** Share of requests above the limit of a p99. */
const P99_SHARE = 0.01;
/** Means of fewer requests are not compared. */
const MEAN_OF_MIN = 30;
/**
 * Standard deviations by which a limit must be exceeded: at any time (a check every few seconds has many chances: one
 * in 2000 each), and at the end of a step (one in 100).
 */
const [CERTAIN, LIKELY] = [3.29, 2.33];

/**
 * Judges a step.
 *
 * @param minutes since the step began.
 */
export function judge(settings: ReleaseSettings, figures: StepFigures, minutes: number): Verdict {
  const { now } = figures;
  const certain = now.requests < CERTAIN_MIN ? null : findBreach(settings, figures, CERTAIN);
  if (certain !== null) return { action: 'roll_back', reason: certain };
  if (minutes < settings.minutes) return { action: 'wait', reason: `Within its limits so far: ${inWords(figures)}` };
  const isShort = now.measured < REQUESTS_MIN;
  if (isShort && minutes < settings.minutes * EXTENSION_MAX)
    return { action: 'wait', reason: `Too few requests to judge yet: ${now.measured} of ${REQUESTS_MIN}` };
  const likely = findBreach(settings, figures, LIKELY);
  if (likely !== null) return { action: 'roll_back', reason: likely };
  const few = isShort ? `too few requests to judge in ${Math.round(minutes)} min, ` : '';
  return { action: 'advance', reason: `Within its limits: ${few}${inWords(figures)}` };
}

/** The first limit that is exceeded by this many standard deviations, as a sentence, or null. */
function findBreach(settings: ReleaseSettings, { now, before }: StepFigures, deviations: number): string | null {
  const limits = limitsOf(settings);
  const failed = [now.failures, now.requests] as const;
  const failedBefore = [before.failures, before.requests] as const;
  if (now.failures >= COUNT_MIN && excess(failed, failedBefore, deviations) > limits.errors)
    return `Errors: ${share(...failed)} of ${now.requests} requests failed, ${share(...failedBefore)} of ${before.requests} before (limit: ${settings.errors} more)`;
  const slower = findSlower(settings, { now, before }, deviations);
  if (slower !== null) return slower;
  const [cpu, cpuBefore] = [meanOf(now), meanOf(before)];
  if (cpu === null || cpuBefore === null) return null;
  const deviation = Math.sqrt(cpu.variance + limits.cpu ** 2 * cpuBefore.variance);
  const isOver = cpu.mean - limits.cpu * cpuBefore.mean > deviations * deviation;
  if (!isOver || cpu.mean - cpuBefore.mean < CPU_MS_MIN) return null;
  return `CPU: ${ms(cpu.mean)} per request, ${ms(cpuBefore.mean)} before (limit: ${settings.cpu})`;
}

/** A sentence for an exceeded limit of latency: of the p99, or of the median if the p99 varies much. */
function findSlower(settings: ReleaseSettings, { now, before }: StepFigures, deviations: number): string | null {
  const [latency, latencyBefore] = [latencyOf(now.firstByte), latencyOf(before.firstByte)];
  if (latency === null || latencyBefore === null) return null;
  const ratio = limitsOf(settings).p99;
  const above = (beforeMs: number) => {
    const limitMs = Math.max(beforeMs * ratio, beforeMs + LATENCY_MS_MIN);
    const slow = countAbove(now.firstByte, limitMs);
    return { limitMs, slow, slowBefore: countAbove(before.firstByte, limitMs), isEnough: slow[1] >= CERTAIN_MIN };
  };
  const tail = above(latencyBefore.p99);
  if (tail.isEnough && tail.slow[0] >= COUNT_MIN && excess(tail.slow, tail.slowBefore, deviations) > P99_SHARE)
    return `Latency: p99 ${ms(latency.p99)}, ${ms(latencyBefore.p99)} before (limit: ${settings.p99}); ${share(...tail.slow)} of ${tail.slow[1]} requests took over ${ms(tail.limitMs)}`;
  const half = above(latencyBefore.p50);
  if (half.isEnough && wilson(half.slow, deviations).low > 0.5)
    return `Latency: median ${ms(latency.p50)}, ${ms(latencyBefore.p50)} before (limit: ${settings.p99}); ${share(...half.slow)} of ${half.slow[1]} requests took over ${ms(half.limitMs)}`;
  return null;
}

type Counted = readonly [count: number, of: number];

/**
 * The lower confidence limit of the difference between two shares (Newcombe's method, from Wilson's limits of both).
 * For small counts it is more cautious than a ratio. Without earlier requests, their share is zero.
 */
function excess(now: Counted, before: Counted, deviations: number): number {
  const [part, partBefore] = [shareOf(now), shareOf(before)];
  const low = part - wilson(now, deviations).low;
  const high = before[1] === 0 ? 0 : wilson(before, deviations).high - partBefore;
  return part - partBefore - Math.hypot(low, high);
}

/** Wilson's limits of a share. */
function wilson([count, of]: Counted, deviations: number): { readonly low: number; readonly high: number } {
  if (of === 0) return { low: 0, high: 1 };
  const [part, square] = [count / of, deviations ** 2];
  const middle = part + square / (2 * of);
  const half = deviations * Math.sqrt((part * (1 - part)) / of + square / (4 * of ** 2));
  return { low: (middle - half) / (1 + square / of), high: (middle + half) / (1 + square / of) };
}

const shareOf = ([count, of]: Counted): number => (of === 0 ? 0 : count / of);

/** The number of durations in buckets above the bucket of a limit, and the number of all durations. */
function countAbove({ buckets, counts }: SparseCounts, limitMs: number): Counted {
  const limit = bucketOf(latencyScale, limitMs);
  const total = counts.reduce((sum, count) => sum + count, 0);
  return [counts.reduce((sum, count, at) => sum + (buckets[at]! > limit ? count : 0), 0), total];
}

/** Mean of the CPU per request in ms, and the variance of that mean; null means too few requests. */
function meanOf({ measured, cpuMs, cpuSquares }: Figures): { readonly mean: number; readonly variance: number } | null {
  if (measured < MEAN_OF_MIN) return null;
  const mean = cpuMs / measured;
  return { mean, variance: Math.max(0, cpuSquares / measured - mean ** 2) / measured };
}

function inWords({ now, before }: StepFigures): string {
  if (now.requests === 0) return 'no requests yet';
  const words = [
    `${share(now.failures, now.requests)} of ${now.requests} requests failed (${share(before.failures, before.requests)} before)`,
  ];
  const [p99, p99Before] = [latencyOf(now.firstByte)?.p99, latencyOf(before.firstByte)?.p99];
  if (p99 !== undefined && p99Before !== undefined) words.push(`p99 ${ms(p99)} (${ms(p99Before)})`);
  if (now.measured > 0 && before.measured > 0)
    words.push(`CPU ${ms(now.cpuMs / now.measured)} (${ms(before.cpuMs / before.measured)})`);
  return words.join(', ');
}

/** @example share(3, 90) // '3.3 %' */
const share = (count: number, of: number): string => `${rounded(of === 0 ? 0 : (100 * count) / of)} %`;
const ms = (value: number): string => `${rounded(value)} ms`;
/** Two digits below ten, whole numbers above a hundred. */
const rounded = (value: number): string => String(Number(value.toPrecision(value >= 100 ? 4 : 2)));

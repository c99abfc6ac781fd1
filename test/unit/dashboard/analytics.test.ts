// What the dashboard computes from analytics: intervals, stacked series, marks of releases, comparisons, notes, and the
// line that an invocation failed with.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isolatedPoints, ownValue, placeLabels, stackedFromTop } from '#dashboard/src/components/chart-series.ts';
import { graphOf } from '#dashboard/src/pages/alerts/rule-graph.ts';
import { notesOf } from '#dashboard/src/pages/analytics/analytics-notes.ts';
import { cpuLimit, intervalsOf, latencySeries, statusSeries } from '#dashboard/src/pages/analytics/analytics-series.ts';
import { changeText, compareCounts, verdictOf } from '#dashboard/src/pages/analytics/compare-counts.ts';
import { releaseMarks } from '#dashboard/src/pages/analytics/release-marks.ts';
import { failureLine } from '#dashboard/src/pages/project/failure-line.ts';

const NOON = Date.UTC(2026, 10, 23, 12);
const MINUTE_MS = 60_000;
const isoOf = (minutes: number): string => new Date(NOON + minutes * MINUTE_MS).toISOString();

const latencyOf = (p99: number) => ({ p50: p99 / 4, p95: p99 / 2, p99 });
const countsOf = (requests: number, failures: number, p99: number | null, cpuMs = requests) => ({
  requests,
  failures,
  status: { '2xx': requests - failures, '3xx': 0, '4xx': 0, '5xx': failures, other: 0 },
  cpuMs,
  cpuMsMax: cpuMs / 2,
  firstByteMs: p99 === null ? null : latencyOf(p99),
  answerMs: p99 === null ? null : latencyOf(2 * p99),
});

test('intervals without requests are zero for counts, and gaps for latencies; the future has none', () => {
  const answer = {
    from: isoOf(0),
    to: isoOf(5),
    stepMs: MINUTE_MS,
    series: [{ at: isoOf(1), ...countsOf(10, 2, 40) }],
  };
  const intervals = intervalsOf(answer, NOON + 3.5 * MINUTE_MS);
  assert.deepEqual(
    intervals.times,
    [0, 1, 2, 3].map((minutes) => NOON + minutes * MINUTE_MS),
  );
  const status = statusSeries(intervals, countsOf(10, 2, 40));
  assert.deepEqual(
    status.map(({ label, values }) => [label, values]),
    [
      ['2xx', [0, 8, 0, 0]],
      ['5xx', [0, 2, 0, 0]],
    ],
  );
  assert.deepEqual(
    latencySeries(intervals, 'answerMs').map(({ label, values }) => [label, values]),
    [
      ['p50', [null, 20, null, null]],
      ['p95', [null, 40, null, null]],
      ['p99', [null, 80, null, null]],
    ],
  );
});

test('labels of marks stay on the chart, are never over one another, and avoid the lines of others', () => {
  const at = (...xs: readonly number[]) => xs.map((x) => ({ x, label: `r${x}`, width: 40 }));
  const place = (...xs: readonly number[]) => placeLabels(at(...xs), 0, 300, 4);
  assert.deepEqual(place(50, 150), [54, 154]);
  // At the right edge, left of the line.
  assert.deepEqual(place(50, 290), [54, 246]);
  // Between two lines there is no room for it, so it is on the other side.
  assert.deepEqual(place(100, 120), [56, 124]);
  // The newest ones have theirs.
  assert.deepEqual(place(10, 20, 30), [null, null, 34]);
  // Over the line of another one, rather than none at all.
  assert.deepEqual(place(280, 290), [null, 246]);
  assert.deepEqual(placeLabels([{ x: 50, label: '', width: 0 }], 0, 300, 4), [null]);
});

test('stacked series are drawn from the top of the stack, and keep their own values for the legend', () => {
  const series = [
    { label: '2xx', color: '--a', values: [3, 0, 5] },
    { label: '5xx', color: '--b', values: [1, null, 2] },
  ];
  const [top, bottom] = stackedFromTop(series);
  assert.deepEqual([top!.label, top!.values, bottom!.label, bottom!.values], ['5xx', [4, 0, 7], '2xx', [3, 0, 5]]);
  assert.deepEqual([ownValue(top!, 2), ownValue(bottom!, 2), ownValue(series[1]!, 1)], [2, 5, null]);
  assert.deepEqual(isolatedPoints([1, null, 2, 3, null, 4]), [0, 5]);
});

test('the limit of CPU is drawn once a request comes near to it', () => {
  assert.equal(cpuLimit(countsOf(1, 0, null, 100), 1000), undefined);
  assert.deepEqual(cpuLimit(countsOf(1, 0, null, 600), 1000), { value: 1000, label: 'Limit' });
  assert.equal(cpuLimit(countsOf(1, 0, null, 600), 0), undefined);
});

test('promotions and rollbacks are marks, with their commit or deployment', () => {
  const marks = releaseMarks([
    { at: isoOf(2), deploymentId: 'd1', commitSha: null, isRollback: false },
    { at: isoOf(3), deploymentId: 'd2', commitSha: '0123456789abcdef', isRollback: false },
    { at: isoOf(4), deploymentId: 'd1', commitSha: null, isRollback: true },
  ]);
  assert.deepEqual(marks, [
    { at: NOON + 2 * MINUTE_MS, label: 'd1' },
    { at: NOON + 3 * MINUTE_MS, label: '0123456' },
    { at: NOON + 4 * MINUTE_MS, label: 'Rollback to d1' },
  ]);
});

test('two deployments are compared number by number, and small changes are neither better nor worse', () => {
  const rows = compareCounts(countsOf(100, 0, 100), countsOf(50, 5, 105, 25));
  assert.deepEqual(
    rows.map((row) => [row.name, row.before, row.after, changeText(row.change), verdictOf(row)]),
    [
      ['Requests', 100, 50, '−50 %', null],
      ['Failed', 0, 0.1, '', 'worse'],
      ['First byte, p50', 25, 26.25, '+5 %', null],
      ['First byte, p95', 50, 52.5, '+5 %', null],
      ['First byte, p99', 100, 105, '+5 %', null],
      ['Whole response, p99', 200, 210, '+5 %', null],
      ['CPU per request', 1, 0.5, '−50 %', 'better'],
    ],
  );
  const none = compareCounts(countsOf(0, 0, null), countsOf(10, 0, 5));
  assert.deepEqual(none.map(verdictOf), [null, null, null, null, null, null, null]);
});

test('what is not kept is said where it applies', () => {
  const routes = [{ route: '(files)', ...countsOf(1, 0, null) }];
  const day = 86_400_000;
  assert.deepEqual(notesOf({ from: isoOf(0), stepMs: MINUTE_MS, routes }, NOON), [
    'Static files are counted as (files), without latency.',
  ]);
  assert.deepEqual(
    notesOf({ from: isoOf(0), stepMs: 3_600_000, routes: [{ route: '*', ...countsOf(1, 0, 5) }] }, NOON + 3 * day),
    [
      'Usage older than two days is stored by hour, so shorter intervals are not available.',
      'A deployment has up to 50 routes. Requests to other routes are counted as *.',
      'All requests are counted. Quantiles of latency are at most 6.25 % off.',
    ],
  );
});

test('a failure is the last error that was logged, with its place; else its status', () => {
  const stack = 'Error: no such guest\n    at find (src/guests.ts:12:9)\n    at fetch (src/index.ts:3:1)';
  const lines = [
    { level: 'error', text: 'first' },
    { level: 'error', text: stack },
    { level: 'info', text: 'done' },
  ] as const;
  const failed = { error: 'no such guest', status: 500, outcome: 'worker_threw' };
  assert.deepEqual(failureLine({ ...failed, lines }), { message: 'Error: no such guest', place: 'src/guests.ts:12:9' });
  assert.deepEqual(failureLine({ ...failed, lines: [] }), { message: 'no such guest', place: null });
  assert.deepEqual(failureLine({ error: '', status: 503, outcome: 'ok', lines: [] }), {
    message: 'The app responded with 503 and logged no error',
    place: null,
  });
});

test('the graph of a rule has a value or a gap for each window, and marks for its own events', () => {
  const series = { from: isoOf(0), to: isoOf(15), stepMs: 5 * MINUTE_MS, items: [{ at: isoOf(5), value: 12.5 }] };
  const events = [
    { ruleId: 'a', type: 'fired', createdAt: isoOf(6) },
    { ruleId: 'a', type: 'test', createdAt: isoOf(7) },
    { ruleId: 'b', type: 'fired', createdAt: isoOf(8) },
    { ruleId: 'a', type: 'resolved', createdAt: isoOf(-1) },
  ] as const;
  assert.deepEqual(graphOf(series, events, 'a'), {
    times: [0, 5, 10, 15].map((minutes) => NOON + minutes * MINUTE_MS),
    values: [null, 12.5, null, null],
    marks: [{ at: NOON + 6 * MINUTE_MS, label: 'fired' }],
  });
});

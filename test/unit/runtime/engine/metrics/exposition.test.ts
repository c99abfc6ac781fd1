import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposition, familyOf } from '#runtime/engine/metrics/exposition.ts';
import { histogram, labels } from '#runtime/engine/metrics/report.ts';
import { parseExposition } from '#test/setup/exposition-reader.ts';

test('a family is printed once, with its help and type before its samples', () => {
  const text = exposition([
    ['platform_invocations_total', 'kind="http",outcome="ok"', 3],
    ['platform_resident_bytes', 'process="supervisor"', 1024],
    ['platform_invocations_total', 'kind="http",outcome="worker_threw"', 1],
  ]);
  assert.equal(
    text,
    [
      '# HELP platform_invocations_total Invocations that have ended, by kind and outcome',
      '# TYPE platform_invocations_total counter',
      'platform_invocations_total{kind="http",outcome="ok"} 3',
      'platform_invocations_total{kind="http",outcome="worker_threw"} 1',
      '# HELP platform_resident_bytes Resident memory of a process',
      '# TYPE platform_resident_bytes gauge',
      'platform_resident_bytes{process="supervisor"} 1024',
      '',
    ].join('\n'),
  );
});

test('a histogram has cumulative buckets, a sum and a count', () => {
  assert.deepEqual(histogram('platform_entry_requests', '', [1, 2, 4], [5, 0, 2, 1], 20), [
    ['platform_entry_requests_bucket', 'le="1"', 5],
    ['platform_entry_requests_bucket', 'le="2"', 5],
    ['platform_entry_requests_bucket', 'le="4"', 7],
    ['platform_entry_requests_bucket', 'le="+Inf"', 8],
    ['platform_entry_requests_sum', '', 20],
    ['platform_entry_requests_count', '', 8],
  ]);
});

test('label values are escaped, and read back by the letter of the format', () => {
  const given = labels({ project: 'a"b\\c\nd', kind: 'http' });
  assert.equal(given, String.raw`project="a\"b\\c\nd",kind="http"`);
  const { samples } = parseExposition(exposition([['platform_invocations_total', given, 1]]));
  assert.deepEqual(samples, [
    { name: 'platform_invocations_total', labels: { project: 'a"b\\c\nd', kind: 'http' }, value: 1 },
  ]);
});

test('a sample of a family that the table does not have is left out', () => {
  assert.equal(exposition([['platform_nothing_total', '', 1]]), '');
  assert.equal(familyOf('platform_wall_milliseconds'), null);
  assert.equal(familyOf('platform_wall_milliseconds_bucket'), 'platform_wall_milliseconds');
  assert.equal(familyOf('platform_routes_sum'), null);
  assert.equal(familyOf('constructor'), null);
});

test('fractions are cut to three digits and infinities are written as the format wants them', () => {
  const text = exposition([
    ['platform_cpu_milliseconds_total', 'kind="http"', 0.1 + 0.2],
    ['platform_event_loop_utilization', 'engine="1"', Number.NaN],
    ['platform_event_loop_lag_milliseconds', 'engine="1"', Infinity],
  ]);
  assert.deepEqual(
    text.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    [
      'platform_cpu_milliseconds_total{kind="http"} 0.3',
      'platform_event_loop_lag_milliseconds{engine="1"} +Inf',
      'platform_event_loop_utilization{engine="1"} NaN',
    ],
  );
});

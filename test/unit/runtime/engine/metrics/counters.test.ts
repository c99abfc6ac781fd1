import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failed, ok } from '#runtime/engine/invocation/outcome.ts';
import { EngineCounters } from '#runtime/engine/metrics/counters.ts';
import { familyOf } from '#runtime/engine/metrics/exposition.ts';
import type { Sample } from '#runtime/engine/metrics/report.ts';

const value = (samples: readonly Sample[], name: string, labels = ''): number | undefined =>
  samples.find((sample) => sample[0] === name && sample[1] === labels)?.[2];

test('invocations are counted by kind, outcome and status, and their wall time falls into a bucket', () => {
  const counters = new EngineCounters({ deploymentsMax: 10 });
  const deployment = counters.open('d1', 'shop');
  deployment.ended('http', ok, 200, 0.4);
  deployment.ended('http', ok, 404, 1);
  deployment.ended('http', ok, 503, 7);
  deployment.ended('http', failed('worker_threw'), 500, 100_000);
  deployment.ended('queue', ok, 0, 3);
  const samples = counters.report();
  assert.equal(value(samples, 'platform_invocations_total', 'kind="http",outcome="ok"'), 3);
  assert.equal(value(samples, 'platform_invocations_total', 'kind="http",outcome="worker_threw"'), 1);
  assert.equal(value(samples, 'platform_invocations_total', 'kind="queue",outcome="ok"'), 1);
  assert.equal(value(samples, 'platform_wall_milliseconds_bucket', 'kind="http",le="1"'), 2);
  assert.equal(value(samples, 'platform_wall_milliseconds_bucket', 'kind="http",le="10"'), 3);
  assert.equal(value(samples, 'platform_wall_milliseconds_bucket', 'kind="http",le="60000"'), 3);
  assert.equal(value(samples, 'platform_wall_milliseconds_bucket', 'kind="http",le="+Inf"'), 4);
  assert.equal(value(samples, 'platform_wall_milliseconds_sum', 'kind="http"'), 100_008.4);
  assert.deepEqual(
    ['2xx', '3xx', '4xx', '5xx'].map((status) => value(samples, 'platform_responses_total', `status="${status}"`)),
    [1, undefined, 1, 2],
  );
});

test('the CPU ledger tells kinds apart, and what no invocation ran in', () => {
  const counters = new EngineCounters({ deploymentsMax: 10 });
  const deployment = counters.open('d1', 'shop');
  deployment.entered(2, 1);
  deployment.charge('http', 1);
  deployment.charge('cron', 1);
  deployment.entered(0.5, 0);
  deployment.chargeHost('http', 3);
  deployment.chargeHost(null, 0.25);
  assert.deepEqual(counters.ledger(), { http: 4, cron: 1, none: 0.75, entries: 2.5, host: 3.25 });
});

test('a deployment that has left stays in the totals', () => {
  const counters = new EngineCounters({ deploymentsMax: 10 });
  const first = counters.open('d1', 'shop');
  assert.equal(counters.open('d1', 'shop'), first);
  first.ended('http', ok, 200, 1);
  counters.close(first);
  assert.equal(counters.deployments().length, 1);
  counters.close(first);
  assert.equal(counters.deployments().length, 0);
  assert.equal(value(counters.report(), 'platform_invocations_total', 'kind="http",outcome="ok"'), 1);
});

test('deployments beyond the bound are reported together', () => {
  const counters = new EngineCounters({ deploymentsMax: 1 });
  const opened = ['d1', 'd2', 'd3'].map((id) => counters.open(id, id));
  for (const deployment of opened) deployment.ended('http', ok, 200, 1);
  const count = (): unknown =>
    counters
      .deployments()
      .map(({ id, counters: own }) => [
        id,
        value(own, 'platform_deployment_invocations_total', 'kind="http",outcome="ok"'),
      ]);
  assert.deepEqual(count(), [
    ['d1', 1],
    ['other', 2],
  ]);
  counters.close(opened[0]!);
  counters.close(opened[1]!);
  counters.open('d4', 'd4').ended('http', ok, 200, 1);
  assert.deepEqual(count(), [
    ['d4', 1],
    ['other', 2],
  ]);
});

test('requests that enter together fall into buckets of powers of two', () => {
  const counters = new EngineCounters({ deploymentsMax: 1 });
  for (const requests of [0, 1, 1, 2, 3, 4, 64, 65, 1000]) counters.entered(requests);
  const samples = counters.report();
  const bucket = (le: string): number | undefined => value(samples, 'platform_entry_requests_bucket', `le="${le}"`);
  assert.deepEqual(['1', '2', '4', '64', '128', '+Inf'].map(bucket), [2, 3, 5, 6, 7, 8]);
  assert.equal(value(samples, 'platform_entries_total'), 9);
  assert.deepEqual(counters.joined, { entries: 8, requests: 1140 });
});

test('host calls are counted by name without changing what they do', () => {
  const counters = new EngineCounters({ deploymentsMax: 1 });
  const first = counters.calls.count({ fetch: (text: string) => text.length, 'cache.match': () => 0 });
  const second = counters.calls.count({ fetch: (text: string) => text.length });
  assert.equal(first['fetch']!('four'), 4);
  assert.equal(second['fetch']!('fives'), 5);
  assert.deepEqual(
    counters.report().filter(([name]) => name === 'platform_host_calls_total'),
    [['platform_host_calls_total', 'name="fetch"', 2]],
  );
});

test('every sample of an engine belongs to a family', () => {
  const counters = new EngineCounters({ deploymentsMax: 1 });
  for (const id of ['d1', 'd2']) counters.open(id, id).ended('http', ok, 200, 1);
  const samples = [...counters.report(), ...counters.deployments().flatMap((deployment) => deployment.counters)];
  for (const [name] of samples) assert.notEqual(familyOf(name), null, name);
});

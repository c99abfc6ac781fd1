import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReport, type MetricsReport, type Sample } from '#runtime/engine/metrics/report.ts';
import { MetricsTotals } from '#runtime/engine/metrics/totals.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const total = 'platform_entries_total';
const own = 'platform_deployment_invocations_total';

function report(
  count: number,
  deployments: Readonly<Record<string, number>> = {},
  gauges: Sample[] = [],
): MetricsReport {
  return {
    counters: [[total, '', count]],
    gauges,
    deployments: Object.entries(deployments).map(([id, value]) => ({
      id,
      project: `of-${id}`,
      counters: [[own, 'kind="http"', value]],
    })),
  };
}

const only = (totals: MetricsTotals, name: string): Sample[] => totals.samples().filter((sample) => sample[0] === name);

test('counters of all engines are summed, and gauges stay apart by engine', () => {
  const totals = new MetricsTotals({ deploymentsMax: 10 });
  totals.update('1', report(3, {}, [['platform_lost_threads', '', 1]]));
  totals.update('2', report(4, {}, [['platform_isolates', 'state="live"', 7]]));
  assert.deepEqual(totals.samples(), [
    [total, '', 7],
    ['platform_lost_threads', 'engine="1"', 1],
    ['platform_isolates', 'engine="2",state="live"', 7],
  ]);
});

test('what a dead engine had counted stays in the totals, its gauges do not', () => {
  const totals = new MetricsTotals({ deploymentsMax: 10 });
  totals.update('1', report(3, { d1: 2 }, [['platform_lost_threads', '', 1]]));
  totals.update('1', report(5, { d1: 4 }));
  totals.retire('1');
  totals.update('2', report(1, { d1: 1 }));
  assert.deepEqual(totals.samples(), [
    [total, '', 6],
    [own, 'deployment="d1",project="of-d1",kind="http"', 5],
  ]);
  totals.retire('1');
  assert.equal(only(totals, total)[0]![2], 6);
});

test('deployments beyond the bound are summed as other, and stay there while they are served', () => {
  const totals = new MetricsTotals({ deploymentsMax: 2 });
  totals.update('1', report(0, { d1: 1, d2: 2, d3: 3, d4: 4 }));
  assert.deepEqual(only(totals, own), [
    [own, 'deployment="d1",project="of-d1",kind="http"', 1],
    [own, 'deployment="d2",project="of-d2",kind="http"', 2],
    [own, 'deployment="other",project="other",kind="http"', 7],
  ]);
  // d1 has left: its row makes room for the next deployment that is new, and d3 does not jump out of `other`.
  totals.update('1', report(0, { d2: 2, d3: 3, d4: 4, d5: 5 }));
  assert.deepEqual(only(totals, own), [
    [own, 'deployment="d2",project="of-d2",kind="http"', 2],
    [own, 'deployment="d5",project="of-d5",kind="http"', 5],
    [own, 'deployment="other",project="other",kind="http"', 7],
  ]);
});

test('what an engine sums as other by itself is other in the totals', () => {
  const totals = new MetricsTotals({ deploymentsMax: 2 });
  totals.update('1', {
    counters: [],
    gauges: [],
    deployments: [{ id: 'other', project: 'other', counters: [[own, '', 9]] }],
  });
  assert.deepEqual(totals.samples(), [[own, 'deployment="other",project="other"', 9]]);
});

test('no total and no row goes backwards, whatever engines and deployments do', () => {
  const { seed, below } = createSeededRandom();
  const random = (): number => below(1000) / 1000;
  for (let run = 0; run < fuzzRounds(20); run++) {
    const totals = new MetricsTotals({ deploymentsMax: 3 });
    const engines = new Map<string, Map<string, number>>();
    let last = new Map<string, number>();
    let next = 0;
    for (let step = 0; step < 60; step++) {
      const choice = random();
      if (choice < 0.15 || engines.size === 0) engines.set(String(next++), new Map());
      const names = [...engines.keys()];
      const name = names[below(names.length)]!;
      const counts = engines.get(name)!;
      if (choice > 0.9) {
        totals.retire(name);
        engines.delete(name);
      } else {
        for (let change = 0; change < 4; change++) {
          const id = `d${below(6)}`;
          if (random() < 0.2) counts.delete(id);
          else counts.set(id, (counts.get(id) ?? 0) + below(5));
        }
        totals.update(name, report(0, Object.fromEntries(counts)));
      }
      const now = new Map(only(totals, own).map(([, labels, value]) => [labels, value]));
      for (const [labels, value] of now)
        assert.ok(
          value >= (last.get(labels) ?? 0),
          `seed ${seed}, run ${run}, step ${step}: ${labels} ${last.get(labels)} -> ${value}`,
        );
      assert.ok(now.size <= 4, `seed ${seed}`);
      last = now;
    }
  }
});

test('a report is checked before it is summed', () => {
  assert.equal(isReport(report(1, { d1: 1 })), true);
  for (const wrong of [
    null,
    1,
    {},
    { counters: [], gauges: [] },
    { counters: [[1, '', 1]], gauges: [], deployments: [] },
  ]) {
    assert.equal(isReport(wrong), false);
  }
  assert.equal(isReport({ counters: [], gauges: [], deployments: [{ id: 1, project: 'p', counters: [] }] }), false);
});

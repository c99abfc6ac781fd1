// How a step of a guarded release is judged: what each limit finds, what chance may do, and how often the judgement is
// wrong of good releases under noise. FUZZ_SEED repeats a run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf, latencyScale, toSparse } from '#core/histogram.ts';
import { defaultReleaseSettings } from '#core/release-settings.ts';
import type { Figures } from '#control/releases/guarded/figures.ts';
import { judge, type Verdict } from '#control/releases/guarded/judge.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

/** Requests, all measured, that took 20 ms and 2 ms of CPU, with others where given. */
function figures(requests: number, more: { failures?: number; slowMs?: number; slow?: number; cpuMs?: number } = {}) {
  const { failures = 0, slowMs = 0, slow = 0, cpuMs = 2 } = more;
  const counts = Array.from<number>({ length: latencyScale.buckets }).fill(0);
  counts[bucketOf(latencyScale, 20)]! += requests - slow;
  counts[bucketOf(latencyScale, slowMs)]! += slow;
  return {
    requests,
    failures,
    measured: requests,
    firstByte: toSparse(counts),
    cpuMs: requests * cpuMs,
    cpuSquares: requests * cpuMs * (2 * cpuMs),
  } satisfies Figures;
}

const judged = (now: Figures, before: Figures, minutes: number): Verdict =>
  judge(defaultReleaseSettings, { now, before }, minutes);

test('a step within its limits advances at its end, and says what it saw', () => {
  const [now, before] = [figures(400, { failures: 1 }), figures(7600, { failures: 10 })];
  assert.deepEqual(judged(now, before, 4.9), {
    action: 'wait',
    reason:
      'Within its limits so far: 0.25 % of 400 requests failed (0.13 % before), p99 20 ms (20 ms), CPU 2 ms (2 ms)',
  });
  assert.deepEqual(judged(now, before, 5), {
    action: 'advance',
    reason: 'Within its limits: 0.25 % of 400 requests failed (0.13 % before), p99 20 ms (20 ms), CPU 2 ms (2 ms)',
  });
});

test('a release that fails one request in thirty is rolled back before its step ends', () => {
  const verdict = judged(figures(300, { failures: 10 }), figures(5700), 2);
  assert.deepEqual(verdict, {
    action: 'roll_back',
    reason: 'Errors: 3.3 % of 300 requests failed, 0 % of 5700 before (limit: 1% more)',
  });
});

test('failures that both deployments have roll nothing back', () => {
  const [now, before] = [figures(300, { failures: 90 }), figures(5700, { failures: 1710 })];
  assert.equal(judged(now, before, 2).action, 'wait');
  assert.equal(judged(now, before, 5).action, 'advance');
});

test('two failed requests are chance, and nothing is beyond doubt before thirty requests', () => {
  assert.equal(judged(figures(29, { failures: 29 }), figures(600), 1).action, 'wait');
  assert.equal(judged(figures(30, { failures: 30 }), figures(600), 1).action, 'roll_back');
  assert.equal(judged(figures(40, { failures: 2 }), figures(600), 30).action, 'advance');
});

test('without requests before, the share of failures is compared with none', () => {
  assert.equal(judged(figures(300, { failures: 10 }), figures(0), 2).action, 'roll_back');
  assert.equal(judged(figures(300, { failures: 1 }), figures(0), 5).action, 'advance');
});

test('a slow release is rolled back, and one slow request in a hundred is not enough', () => {
  const before = figures(5700, { slow: 20, slowMs: 25 });
  assert.deepEqual(judged(figures(300, { slow: 30, slowMs: 200 }), before, 2), {
    action: 'roll_back',
    reason: 'Latency: p99 204 ms, 20 ms before (limit: 1.5x); 10 % of 300 requests took over 31 ms',
  });
  assert.equal(judged(figures(300, { slow: 3, slowMs: 200 }), before, 5).action, 'advance');
});

test('a release that is slower throughout is rolled back beside a p99 that varies much', () => {
  const before = figures(5700, { slow: 570, slowMs: 1000 });
  assert.deepEqual(judged(figures(300, { slow: 300, slowMs: 80 }), before, 2), {
    action: 'roll_back',
    reason: 'Latency: median 80 ms, 20 ms before (limit: 1.5x); 100 % of 300 requests took over 30 ms',
  });
  assert.equal(judged(figures(300, { slow: 140, slowMs: 80 }), before, 5).action, 'advance');
});

test('a latency of few milliseconds may double', () => {
  const quick = (slow: number): Figures => ({ ...figures(0), requests: 600, measured: 600, firstByte: at(1, slow) });
  assert.equal(judged(quick(300), quick(0), 5).action, 'advance');
});

/** 600 durations, so many of 5 ms, the others of another duration. */
function at(ms: number, slow: number) {
  const counts = Array.from<number>({ length: latencyScale.buckets }).fill(0);
  counts[bucketOf(latencyScale, ms)] = 600 - slow;
  counts[bucketOf(latencyScale, 5)]! += slow;
  return toSparse(counts);
}

test('a release that uses three times the CPU is rolled back', () => {
  assert.deepEqual(judged(figures(300, { cpuMs: 6 }), figures(5700), 2), {
    action: 'roll_back',
    reason: 'CPU: 6 ms per request, 2 ms before (limit: 2x)',
  });
  assert.equal(judged(figures(300, { cpuMs: 3.5 }), figures(5700), 5).action, 'advance');
});

test('CPU that grows by less than two milliseconds may triple', () => {
  assert.equal(judged(figures(300, { cpuMs: 2.4 }), figures(5700, { cpuMs: 0.8 }), 5).action, 'advance');
  assert.equal(judged(figures(300, { cpuMs: 3.4 }), figures(5700, { cpuMs: 0.8 }), 5).action, 'roll_back');
});

test('a step with few requests is extended six times, and then goes on', () => {
  assert.deepEqual(judged(figures(40), figures(760), 29), {
    action: 'wait',
    reason: 'Too few requests to judge yet: 40 of 100',
  });
  assert.deepEqual(judged(figures(40), figures(760), 30), {
    action: 'advance',
    reason:
      'Within its limits: too few requests to judge in 30 min, 0 % of 40 requests failed (0 % before), p99 20 ms (20 ms), CPU 2 ms (2 ms)',
  });
  assert.equal(judged(figures(0), figures(0), 30).action, 'advance');
});

/** An app: its rate of failures, its median latency and CPU, and how far both spread. */
interface App {
  readonly failures: number;
  readonly latencyMs: number;
  readonly cpuMs: number;
  readonly spread: number;
}

const random = createSeededRandom();
const uniform = (): number => (random.below(2 ** 31) + 0.5) / 2 ** 31;
const normal = (): number => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());

/** Counts requests as the ledger does. */
function counter({ failures, latencyMs, cpuMs, spread }: App) {
  const counts = new Uint32Array(latencyScale.buckets);
  const seen = { requests: 0, failures: 0, cpuMs: 0, cpuMax: 0 };
  return {
    serve(requests: number) {
      for (let i = 0; i < requests; i++) {
        const cpu = cpuMs * Math.exp(spread * normal());
        seen.requests++;
        if (uniform() < failures) seen.failures++;
        seen.cpuMs += cpu;
        seen.cpuMax = Math.max(seen.cpuMax, cpu);
        // Some are slow for reasons of their own: a cold cache, a busy machine.
        counts[bucketOf(latencyScale, latencyMs * Math.exp(spread * normal()) * (uniform() < 0.01 ? 10 : 1))]!++;
      }
    },
    figures: (): Figures => ({
      requests: seen.requests,
      failures: seen.failures,
      measured: seen.requests,
      firstByte: toSparse(counts),
      cpuMs: seen.cpuMs,
      cpuSquares: seen.cpuMs * seen.cpuMax,
    }),
  };
}

/** The first step of a release, looked at ten times a minute. @returns what was decided, and after how many requests */
function firstStep(old: App, next: App, perMinute: number) {
  const [now, before] = [counter(next), counter(old)];
  for (let look = 1; ; look++) {
    const share = Math.round((perMinute / 10) * 0.05 * look) - Math.round((perMinute / 10) * 0.05 * (look - 1));
    now.serve(share);
    before.serve(perMinute / 10 - share);
    const { action, reason } = judged(now.figures(), before.figures(), look / 10);
    if (action !== 'wait') return { action, reason, requests: now.figures().requests };
  }
}

const anyApp = (): App => ({
  failures: random.pick([0, 0.001, 0.01, 0.05]),
  latencyMs: random.pick([2, 20, 200]),
  cpuMs: random.pick([0.5, 5, 50]),
  spread: random.pick([0.1, 0.5, 1]),
});

/** A count above this has another cause than chance, which exceeds it once in 100,000 times. */
const mostByChance = (expected: number): number => expected + 5 * Math.sqrt(expected) + 2;

// The rates of docs/guarded-releases.md.
test('in its first step, one good release in 250 is rolled back, and one bad one in a hundred is missed', () => {
  const rounds = fuzzRounds(200);
  const wrong: string[] = [];
  const missed: string[] = [];
  for (let i = 0; i < rounds; i++) {
    const app = anyApp();
    const good = firstStep(app, app, random.pick([100, 600]));
    if (good.action === 'roll_back') wrong.push(`${JSON.stringify(app)}: ${good.reason}`);
    const bad = random.pick<App>([
      { ...app, failures: app.failures + 1 / 15 },
      { ...app, latencyMs: Math.max(50, app.latencyMs * 6) },
      { ...app, cpuMs: Math.max(10, app.cpuMs * 6) },
    ]);
    const found = firstStep(app, bad, 1200);
    if (found.action !== 'roll_back') missed.push(`${JSON.stringify([app, bad])}: ${found.reason}`);
  }
  assert.ok(wrong.length <= mostByChance(rounds / 250), `seed ${random.seed}: ${wrong.join('\n')}`);
  assert.ok(missed.length <= mostByChance(rounds / 100), `seed ${random.seed}: ${missed.join('\n')}`);
});

test('one failure in thirty requests is found after 150 requests in half of the cases, after 460 in nine of ten', () => {
  const rounds = fuzzRounds(200);
  const isFound = (requests: number, failures: number): boolean =>
    judged(figures(requests, { failures }), figures(requests * 19), 1).action === 'roll_back';
  const counts = Array.from({ length: rounds }, () => {
    for (let requests = 1, failures = 0; ; requests++)
      if (uniform() < 1 / 30 && isFound(requests, ++failures)) return requests;
  });
  for (const [requests, share] of [
    [150, 0.5],
    [460, 0.9],
  ] as const) {
    const late = counts.filter((count) => count > requests).length;
    assert.ok(late <= mostByChance(rounds * (1 - share)), `seed ${random.seed}: ${late} of ${rounds}`);
  }
});

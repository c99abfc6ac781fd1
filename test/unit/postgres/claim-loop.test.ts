// What the loop costs beside its deliveries. What it delivers and when is test/contract/broker.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startClaimLoop, type ClaimedRow, type ClaimLoop, type ClaimSource, type Work } from '#postgres/claim-loop.ts';
import { createLocalWake } from '#postgres/wake.ts';
import { until } from '#test/setup/until.ts';

/** What a source answers where a case does not care. */
const quiet: Omit<ClaimSource<ClaimedRow>, 'kind' | 'scan'> = {
  claim: async () => [],
  renew: async () => [],
  release: async () => true,
  members: async () => [],
  takeOver: async () => {},
};

function start(
  source: ClaimSource<ClaimedRow>,
  work: Work<ClaimedRow> = { group: () => [], run: async () => ({}) },
  wake = createLocalWake(),
): Promise<ClaimLoop> {
  return startClaimLoop({
    source,
    work,
    wake,
    member: 'm',
    isGone: () => false,
    leaseMs: 30_000,
    pollMs: 30_000,
    inFlightMax: 10,
    now: Date.now,
    onTrouble: (_message, error) => assert.fail(String(error)),
  });
}

test('a look at many lanes with something due later reckons the first time once, not once a lane', async () => {
  const lanes = 3000;
  const far = Date.now() + 3_600_000;
  const { promise: looked, resolve: look } = Promise.withResolvers<void>();
  let reads = 0;
  const source: ClaimSource<ClaimedRow> = {
    ...quiet,
    kind: 'timer',
    // Times that say when they are compared.
    scan: async () =>
      Array.from({ length: lanes }, (_, lane) => ({
        lane,
        namespace: 'a',
        due_at: { valueOf: () => (reads++, far + lane) } as unknown as number,
      })),
    async members() {
      look();
      return [];
    },
  };
  const loop = await start(source);
  await looked;
  await loop.close(0);
  assert.ok(reads < 20 * lanes, `${reads} comparisons`);
});

test('what comes due while the loop looks for it is followed by the next as by any other, without a poll', async () => {
  const began = Date.now();
  const due = [5, 15, 25, 35, 45].map((ms) => began + ms);
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  let seq = 0;
  const source: ClaimSource<ClaimedRow> = {
    ...quiet,
    kind: 'timer',
    async scan(lanes) {
      const [next] = due;
      // As long as the look takes, time passes.
      if (lanes !== undefined && next !== undefined) while (Date.now() < next);
      return [{ lane: 1, namespace: 'a', due_at: next ?? null }];
    },
    async claim(_lanes, _perLane, lease, now) {
      const rows: ClaimedRow[] = [];
      while (due.length > 0 && due[0]! <= now) {
        due.shift();
        rows.push({ seq: ++seq, lane_id: 1, lease, room: 100, attempt: 1 });
      }
      return rows;
    },
  };
  const loop = await start(source, {
    group: (rows) => rows.map((row) => [row]),
    async run([row]) {
      if (row!.seq === 5) finish();
      return {};
    },
  });
  await finished;
  await loop.close(0);
});

test('a lane whose due rows cannot be claimed is not asked again and again', async () => {
  const { promise: looked, resolve: look } = Promise.withResolvers<void>();
  let [claims, turns] = [0, 0];
  const source: ClaimSource<ClaimedRow> = {
    ...quiet,
    kind: 'queue',
    scan: async () => [{ lane: 1, namespace: 'a', due_at: 1 }],
    async claim() {
      claims++;
      return [];
    },
    async members() {
      look();
      return [];
    },
  };
  const loop = await start(source);
  await looked;
  while (turns++ < 100) await new Promise((resolve) => setImmediate(resolve));
  await loop.close(0);
  assert.equal(claims, 2);
});

test('events of one namespace that take long leave room for those of others', async () => {
  const wake = createLocalWake();
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const begun = new Map<number, number>();
  let seq = 0;
  let isOtherBegun = (): void => {};
  const other = new Promise<void>((resolve) => (isOtherBegun = resolve));
  const source: ClaimSource<ClaimedRow> = {
    ...quiet,
    kind: 'queue',
    scan: async () => [1, 2].map((lane) => ({ lane, namespace: 'greedy', due_at: 1 })),
    claim: async (lanes, perLane, lease) =>
      lanes.flatMap((lane) =>
        Array.from({ length: perLane }, () => ({ seq: ++seq, lane_id: lane, lease, room: 100, attempt: 1 })),
      ),
  };
  const work: Work<ClaimedRow> = {
    group: (rows) => rows.map((row) => [row]),
    async run([row]) {
      begun.set(row!.lane_id, (begun.get(row!.lane_id) ?? 0) + 1);
      if (row!.lane_id === 3) isOtherBegun();
      await held;
      return {};
    },
  };
  const loop = await start(source, work, wake);
  await until(() => loop.inFlight === 5);
  assert.equal(begun.get(3), undefined);
  wake.notify('queue', 3, 1);
  await other;
  assert.equal(begun.get(1)! + begun.get(2)!, 5, 'half of ten');
  letGo();
  await loop.close(1000);
});

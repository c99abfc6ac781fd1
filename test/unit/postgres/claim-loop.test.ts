// What the loop costs beside its deliveries. What it delivers and when is test/contract/broker.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startClaimLoop, type ClaimedRow, type ClaimSource } from '#postgres/claim-loop.ts';
import { createLocalWake } from '#postgres/wake.ts';

test('a look at many lanes with something due later reckons the first time once, not once a lane', async () => {
  const lanes = 3000;
  const far = Date.now() + 3_600_000;
  const { promise: looked, resolve: look } = Promise.withResolvers<void>();
  let reads = 0;
  const source: ClaimSource<ClaimedRow> = {
    kind: 'timer',
    // Times that say when they are compared.
    scan: async () =>
      Array.from({ length: lanes }, (_, lane) => ({
        lane,
        namespace: 'a',
        due_at: { valueOf: () => (reads++, far + lane) } as unknown as number,
      })),
    claim: async () => [],
    renew: async () => [],
    release: async () => true,
    async members() {
      look();
      return [];
    },
    takeOver: async () => {},
  };
  const loop = await startClaimLoop({
    source,
    work: { group: () => [], run: async () => ({}) },
    wake: createLocalWake(),
    member: 'm',
    isGone: () => false,
    leaseMs: 30_000,
    pollMs: 30_000,
    inFlightMax: 10,
    now: Date.now,
    onTrouble: (_message, error) => assert.fail(String(error)),
  });
  await looked;
  await loop.close(0);
  assert.ok(reads < 20 * lanes, `${reads} comparisons`);
});

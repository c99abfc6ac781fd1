// The lease of a database service beside another one, over a table in memory and clocks that the test sets.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ProjectFolders } from '#runtime/databases/homes/folders.ts';
import { Lease } from '#runtime/databases/homes/lease.ts';
import { later, type Moment } from '#runtime/databases/protocol/lease-clock.ts';
import type { HomesTable, ServiceRow } from '#runtime/stores/database-homes-postgres.ts';
import { until } from '#test/setup/until.ts';

/** A service of an empty folder. */
function start(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'platform-test-'));
  let now: Moment = { monotonic: 1_000_000, day: 1_800_000_000_000 };
  const seen: string[] = [];
  const other = { id: 'other', renewals: 0, isLeased: true, machine: 'm2', address: 'tcp://m2:1' } as ServiceRow;
  /** Renewals that wait; null: they do not. */
  let waiting: PromiseWithResolvers<void> | null = null;
  let renewals = 0;
  let services = [other];
  let isRestoring = false;
  /** Questions for its projects that fail. */
  let failures = 0;
  const table = {
    announce: async () => 1,
    async renew() {
      renewals++;
      now = later(now, 1);
      await waiting?.promise;
      return true;
    },
    services: async () => services,
    async homesOf() {
      if (failures-- > 0) throw new Error('Postgres is away');
      return [];
    },
    close: async () => {},
  } as Partial<HomesTable> as HomesTable;
  const lease = new Lease({
    machine: 'm1',
    address: 'tcp://m1:1',
    version: '0.0.0',
    times: { renewMs: 5, validMs: 60_000, lostMs: 75_000 },
    directory,
    waitMs: 60_000,
    folders: new ProjectFolders(directory),
    replication: null,
    shards: { tell: () => {}, endImports: () => {} },
    projects: {
      register: async () => {},
      begin: () => void seen.push('begins'),
      end: () => void seen.push('ends'),
      keep: () => {},
      stored: () => [],
      isRestoring: () => isRestoring,
      work: async () => {},
    },
    openTable: () => table,
    now: () => now,
    report: (message) => void seen.push(message),
  });
  t.after(async () => {
    waiting?.resolve();
    await lease.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const own = { ...other, id: lease.id, isLeased: false };
  lease.usePostgres('postgres://');
  return {
    lease,
    seen,
    leaveAlone: () => (services = [own]),
    restore: (is: boolean) => (isRestoring = is),
    /** Resolves after that many renewals. */
    async renewals(count: number) {
      const before = renewals;
      await until(() => renewals >= before + count);
    },
    meetAnother() {
      failures = 1;
      services = [own, other];
    },
    /** Resolves when a renewal waits. */
    async hold() {
      waiting = Promise.withResolvers();
      const before = renewals;
      await until(() => renewals > before);
    },
    go() {
      waiting?.resolve();
      waiting = null;
    },
    pass(monotonicMs: number, dayMs: number) {
      now = { monotonic: now.monotonic + monotonicMs, day: now.day + dayMs };
    },
  };
}

const CLOSED = 'project databases are closed: the lease of this machine has ended (Postgres does not answer)';

test('a machine that slept is no home, until a renewal that began after its sleep', async (t) => {
  const { lease, seen, hold, go, pass } = start(t);
  await until(() => lease.isValid);
  await hold();
  pass(1, 3_600_000);
  assert.equal(lease.isValid, false);
  await until(() => seen.includes('ends'));
  go();
  await lease.renewed();
  assert.equal(lease.isValid, true);
  // The renewal that began before reads what it has in vain.
  assert.deepEqual(seen, ['begins', CLOSED, 'ends', 'begins', 'begins']);
});

test('a lease that was not renewed in time has ended, and a renewal begins another one', async (t) => {
  const { lease, seen, hold, go, pass } = start(t);
  await until(() => lease.isValid);
  const { era } = lease;
  await hold();
  pass(60_000, 60_000);
  assert.equal(lease.isValid, false);
  go();
  await until(() => lease.isValid);
  assert.notEqual(lease.era, era);
  assert.deepEqual(seen.slice(0, 3), ['begins', CLOSED, 'ends']);
});

test('a service that meets another one reads what it has, also when Postgres fails at that moment', async (t) => {
  const { lease, seen, leaveAlone, meetAnother } = start(t);
  leaveAlone();
  await until(() => lease.until === null);
  seen.length = 0;
  meetAnother();
  await until(() => lease.until !== null);
  await lease.renewed();
  assert.deepEqual(seen, ['begins']);
});

test('a service that is left alone keeps its lease while it restores the projects of a lost one', async (t) => {
  const { lease, leaveAlone, restore, renewals } = start(t);
  restore(true);
  leaveAlone();
  await until(() => lease.isValid);
  await renewals(5);
  // Without a lease, requests for these projects would not wait, and would get empty databases.
  assert.notEqual(lease.until, null);
  restore(false);
  await until(() => lease.until === null);
});

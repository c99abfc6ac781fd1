// Backups that a whole platform makes by itself: on a schedule, when the API asks for one, and what its metrics say
// when they fail. test/integration/backup-schedule.test.ts has the same of the schedule alone.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { backupPlan, backupRuns, requestBackup } from '#core/process/backup-runs.ts';
import { parseExposition } from '#test/setup/exposition-reader.ts';
import { startPlatform, type TestPlatform } from '#test/setup/platform.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { until } from '#test/setup/until.ts';

const target = mkdtempSync(path.join(tmpdir(), 'platform-scheduled-'));
after(() => rmSync(target, { recursive: true, force: true }));

const metric = async (platform: TestPlatform, name: string): Promise<number | undefined> =>
  parseExposition((await platform.ask('/metrics')).text).value(name, {});

test('backups are made on schedule, and as many stay as are to be kept', async () => {
  const platform = await startPlatform(
    {},
    { BACKUP_CRON: '* * * * * *', BACKUP_TARGET: `${target}/`, BACKUP_KEEP: '2' },
  );
  try {
    const { folder } = platform;
    const made = () => backupRuns(folder).filter(({ endedAt, error }) => endedAt !== null && error === null);
    await until(() => made().length >= 4);
    assert.equal(made().filter(({ isRemoved }) => !isRemoved).length, 2);
    // The next one may be on its way.
    assert.ok(readdirSync(target).filter((name) => name.endsWith('.tar')).length <= 3);
    const { cron, nextAt } = backupPlan(folder)!;
    assert.equal(cron, '* * * * * *');
    assert.ok(Date.parse(nextAt!) > Date.parse(made().at(-1)!.startedAt));
    assert.equal(await metric(platform, 'platform_backup_failed'), 0);
    assert.ok((await metric(platform, 'platform_backup_good_timestamp_seconds'))! > 1_700_000_000);
  } finally {
    await platform.close();
  }
});

test('without a schedule one is made when it is asked for; a failure is in the record and the metrics', async () => {
  const platform = await startPlatform({}, { BACKUP_TARGET: 's3://files/of-platform' });
  try {
    assert.deepEqual(backupPlan(platform.folder), { cron: null, target: 's3://files/of-platform', nextAt: null });
    assert.equal(await metric(platform, 'platform_backup_failed'), 0);
    requestBackup(platform.folder);
    const run = await until(() => backupRuns(platform.folder).find(({ endedAt }) => endedAt !== null));
    assert.match(run.error!, /^A backup in a bucket needs BACKUP_S3_ENDPOINT/);
    assert.equal(await metric(platform, 'platform_backup_failed'), 1);
    assert.equal(await metric(platform, 'platform_backup_good_timestamp_seconds'), 0);
  } finally {
    await platform.close();
  }
});

test('a supervisor that runs nothing but backups makes them beside the others', async () => {
  const database = await createTestDatabase();
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  const beside = mkdtempSync(path.join(tmpdir(), 'platform-backups-alone-'));
  const platform = await startPlatform(
    {},
    {
      PLATFORM_PARTS: 'backups',
      HANDLER_PROCESSES: '0',
      HANDLER_PRIVATE_PORT: String(port),
      PRIVATE_PORT_TOKEN: '0123456789abcdef0123456789abcdef',
      DATABASE_URL: database.url,
      BACKUP_CRON: '* * * * * *',
      BACKUP_TARGET: `${beside}/`,
    },
  );
  try {
    const run = await until(() => backupRuns(platform.folder).find(({ endedAt }) => endedAt !== null));
    assert.equal(run.error, null);
    assert.ok(readdirSync(beside).some((name) => name.endsWith('.tar')));
    // What the container's health check asks.
    const ready = await fetch(`http://127.0.0.1:${port}/_platform/health/ready`);
    assert.equal(ready.status, 200, await ready.text());
  } finally {
    await platform.close();
    await database.close();
    rmSync(beside, { recursive: true, force: true });
  }
});

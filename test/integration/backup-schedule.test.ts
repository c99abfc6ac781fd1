// Backups on a schedule, when the API asks for one, and what is said when they fail: the supervisor's schedule and its
// metrics in this process, over a data folder with little in it. test/control has it over whole platforms.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { backupPlan, backupRuns, beginRun, lastBackup, requestBackup } from '#core/process/backup-runs.ts';
import { takeLock } from '#artifacts/file-lock.ts';
import { startBackupSchedule } from '#runtime/supervisor/services/backup-schedule.ts';
import { parseExposition } from '#test/setup/exposition-reader.ts';
import { ask, openPort } from '#test/setup/private-port.ts';
import { until } from '#test/setup/until.ts';

const target = mkdtempSync(path.join(tmpdir(), 'platform-scheduled-'));
after(() => rmSync(target, { recursive: true, force: true }));

/** A data folder, its schedule, and its metrics by their names. */
async function open(t: TestContext, environment: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-test-'));
  for (const name of ['routes', 'databases']) mkdirSync(path.join(folder, name));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const schedule = startBackupSchedule(
    { PATH, NODE_COMPILE_CACHE, LOG_LEVEL: 'silent', DATABASE_URL: 'none', ...environment },
    folder,
  );
  t.after(async () => {
    schedule.stop();
    await until(() => backupRuns(folder).every(({ endedAt }) => endedAt !== null));
    rmSync(folder, { recursive: true });
  });
  const port = await openPort(t, { deps: { backups: () => lastBackup(folder) } });
  const metric = async (name: string): Promise<number | undefined> =>
    parseExposition((await ask(port, '/metrics')).text).value(name, {});
  return { folder, metric };
}

test('backups are made on schedule, and as many stay as are to be kept', async (t) => {
  const { folder, metric } = await open(t, {
    BACKUP_CRON: '* * * * * *',
    BACKUP_TARGET: `${target}/`,
    BACKUP_KEEP: '1',
  });
  const made = () => backupRuns(folder).filter(({ endedAt, error }) => endedAt !== null && error === null);
  await until(() => made().length >= 2);
  assert.equal(made().filter(({ isRemoved }) => !isRemoved).length, 1);
  // The next one may be on its way.
  assert.ok(readdirSync(target).filter((name) => name.endsWith('.tar')).length <= 2);
  const { cron, nextAt } = backupPlan(folder)!;
  assert.equal(cron, '* * * * * *');
  assert.ok(Date.parse(nextAt!) > Date.parse(made().at(-1)!.startedAt));
  assert.equal(await metric('platform_backup_failed'), 0);
  assert.ok((await metric('platform_backup_good_timestamp_seconds'))! > 1_700_000_000);
});

test('without a schedule one is made when it is asked for; a failure is in the record and the metrics', async (t) => {
  const { folder, metric } = await open(t, { BACKUP_TARGET: 's3://files/of-platform' });
  assert.deepEqual(backupPlan(folder), { cron: null, target: 's3://files/of-platform', nextAt: null });
  assert.equal(await metric('platform_backup_failed'), 0);
  requestBackup(folder);
  const run = await until(() => backupRuns(folder).find(({ endedAt }) => endedAt !== null));
  assert.match(run.error!, /^A backup in a bucket needs BACKUP_S3_ENDPOINT/);
  assert.equal(await metric('platform_backup_failed'), 1);
  assert.equal(await metric('platform_backup_good_timestamp_seconds'), 0);
});

test('one that was cut off is noted at the next start, unless it is under way elsewhere', () => {
  const folder = mkdtempSync(path.join(target, 'data-'));
  beginRun(folder);
  const lock = takeLock(path.join(folder, 'locks', 'backup'))!;
  startBackupSchedule({}, folder).stop();
  assert.equal(backupRuns(folder)[0]!.endedAt, null);
  lock.release();
  startBackupSchedule({}, folder).stop();
  assert.equal(backupRuns(folder)[0]!.error, 'It was interrupted');
});

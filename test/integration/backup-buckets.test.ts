// Backups in a bucket, and of files that lie in one.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { backupRuns } from '#core/process/backup-runs.ts';
import { runBackup } from '#operations/backup/run.ts';
import { checkBackups } from '#operations/doctor/installation.ts';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { FOLDERS, openBackupSource, PASSPHRASE, type BackupSource } from '#test/setup/backup-cases.ts';
import { digestOfFolder, makeDataFolder } from '#test/setup/backups.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { startS3Server, variablesOf, type S3Server } from '#test/setup/s3-server.ts';

let s3: S3Server;
let source: BackupSource;
let { work, backUp, restore } = {} as BackupSource;

before(async () => {
  [s3, source] = await Promise.all([startS3Server(), openBackupSource()]);
  ({ work, backUp, restore } = source);
});
after(async () => {
  await source.close();
  await s3.close();
});

test('a bucket gets what it lacks and no more; what no kept backup names goes, and any kept one is restored', async () => {
  const own = await makeDataFolder(randomBytes(1_000_000).toString('hex'));
  const target = await createTestDatabase();
  const bucket = { ...variablesOf(s3, 'BACKUP_S3'), BACKUP_PASSPHRASE: PASSPHRASE };
  const environment = {
    DATABASE_URL: source.url,
    BACKUP_TARGET: 's3://files/of/platform',
    BACKUP_KEEP: '2',
    ...bucket,
  };
  const run = () => runBackup({ folder: own, environment, cwd: work, version: '0.1.0' });
  try {
    const first = await run();
    const second = await run();
    writeFileSync(path.join(own, 'routes/shop.json'), '{"version":2}');
    const third = await run();
    console.log(
      `${first.bytes} bytes: the first backup writes ${first.writtenBytes}, one without a change ${second.writtenBytes}, one with another route ${third.writtenBytes}`,
    );
    assert.ok(first.writtenBytes > 1_000_000);
    // The list of its parts, and no content.
    assert.ok(second.writtenBytes < 10_000, `${second.writtenBytes}`);
    assert.ok(third.writtenBytes < 11_000, `${third.writtenBytes}`);
    assert.deepEqual(third.removed, [path.basename(first.location)]);
    assert.deepEqual(
      backupRuns(own).map(({ location, isRemoved }) => [location, isRemoved]),
      [
        [third.location, false],
        [second.location, false],
        [first.location, true],
      ],
    );
    const to = path.join(work, 'of-a-bucket');
    await assert.rejects(restore(first.location, to, target.url, bucket, true), /There is no backup/);
    await restore(second.location, to, target.url, bucket, true);
    assert.equal(readFileSync(path.join(to, 'routes/shop.json'), 'utf8'), '{"version":1,"vars":{"KEY":"v"}}');
    await restore('s3://files/of/platform', to, target.url, bucket, true);
    assert.deepEqual(digestOfFolder(to, FOLDERS), digestOfFolder(own, FOLDERS));
    await assert.rejects(
      runBackup({
        folder: own,
        environment: { ...environment, BACKUP_S3_ENDPOINT: 'http://127.0.0.1:1' },
        cwd: work,
        version: '0.1.0',
      }),
      { kind: 'backup', reason: 'failed' },
    );
    assert.match(
      checkBackups(environment, own, Date.now()).message,
      /^The last backup failed \(s3:\/\/files\/of\/platform cannot be used: .*; the last successful one is 0 h old$/,
    );
  } finally {
    await target.close();
    rmSync(own, { recursive: true });
  }
});

test('files go to a bucket and, taken along, from there to a disk', async () => {
  const target = await createTestDatabase();
  const files = { ...variablesOf(s3, 'FILES_S3'), FILES_S3_BUCKET: s3.bucket, FILES_S3_PREFIX: 'of/projects' };
  const more = { BACKUP_PASSPHRASE: PASSPHRASE };
  const [inBucket, onDisk] = [path.join(work, 'in-a-bucket'), path.join(work, 'on-a-disk')];
  const run = (withBucket: boolean, out: string) =>
    runBackup({
      folder: inBucket,
      environment: { DATABASE_URL: target.url, ...more, ...files },
      cwd: work,
      version: '0.1.0',
      out,
      withBucket,
    });
  try {
    await restore((await backUp('with-files.tar', more)).location, inBucket, target.url, { ...more, ...files }, true);
    assert.equal(existsSync(path.join(inBucket, 'files')), false);
    const without = await run(false, 'without.tar');
    assert.equal(without.files, 0);
    assert.match(without.leftOut.join(), /Files of projects: they are in the bucket files/);
    const report = await run(true, 'with.tar');
    assert.equal(report.files, 2);
    assert.deepEqual(report.leftOut, []);
    await restore(report.location, onDisk, target.url, more, true);
    const store = openFilesDisk(path.join(onDisk, 'files'));
    const found = await store.get({ namespace: 'shop', resource: 'uploads' }, 'a/b.txt', { range: null, onlyIf: null });
    assert.deepEqual(
      [await text(found!.body as Readable), found!.head.headers, found!.head.metadata],
      ['hello', { contentType: 'text/plain' }, { by: 'ada' }],
    );
    assert.equal((await store.head({ namespace: 'shop', resource: 'uploads' }, 'empty'))?.size, 0);
    store.close();
  } finally {
    await target.close();
  }
});

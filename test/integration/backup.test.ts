// A backup of a data folder and a Postgres, and its restore elsewhere: everything is back, compared by hash.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { openFilesDisk } from '#runtime/stores/files-disk.ts';
import { BackupError } from '#operations/archive/backup-error.ts';
import { backupRuns } from '#core/process/backup-runs.ts';
import { runBackup } from '#operations/backup/run.ts';
import { checkBackups } from '#operations/doctor/installation.ts';
import { placesOf } from '#operations/places.ts';
import { openBackupAt } from '#operations/restore/find.ts';
import { restoreBackup } from '#operations/restore/restore.ts';
import { openPostgres } from '#postgres/connection.ts';
import { ownSchemas } from '#postgres/dump.ts';
import { FORMER_LEDGER, LEDGER } from '#postgres/ledger.ts';
import { migrate, readMigrations } from '#postgres/migrate.ts';
import { openSql } from '#postgres/sql.ts';
import { digestOfDatabase, digestOfFolder, fillDatabase, makeDataFolder } from '#test/setup/backups.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';
import { startS3Server, variablesOf } from '#test/setup/s3-server.ts';

const PASSPHRASE = 'correct horse battery staple';
/** Archives that are damaged. */
const DAMAGES = Number(process.env['FUZZ_RUNS'] ?? 48);
const FOLDERS = ['routes', 'artifacts', 'repositories', 'databases', 'files'];
const work = mkdtempSync(path.join(tmpdir(), 'platform-backups-'));
let folder: string;
let source: Awaited<ReturnType<typeof createTestDatabase>>;

before(async () => {
  folder = await makeDataFolder();
  source = await createTestDatabase();
  await fillDatabase(source.url);
});
after(async () => {
  await source.close();
  rmSync(work, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
});

const backUp = (out: string, more: Record<string, string> = {}) =>
  runBackup({ folder, environment: { DATABASE_URL: source.url, ...more }, cwd: work, version: '0.1.0', out });

async function restore(archive: string, to: string, url: string, more: Record<string, string> = {}, force = false) {
  const environment = { DATABASE_URL: url, ...more };
  const backup = await openBackupAt(archive, work, environment, more['BACKUP_PASSPHRASE'] ?? null);
  try {
    return await restoreBackup({ backup, places: placesOf(environment, to), force, withoutKeys: false });
  } finally {
    await backup.close();
  }
}

test('an encrypted backup brings everything back, keys included, and only once without --force', async () => {
  const secret = { BACKUP_PASSPHRASE: PASSPHRASE };
  const report = await backUp('encrypted.tar', secret);
  assert.equal(report.hasKeys, true);
  assert.equal(statSync(report.location).mode & 0o777, 0o600);
  assert.equal(readFileSync(report.location).includes('shop'), false);
  const target = await createTestDatabase();
  const to = path.join(work, 'restored');
  try {
    await assert.rejects(restore(report.location, to, target.url), /The backup is encrypted/);
    await assert.rejects(
      restore(report.location, to, target.url, { BACKUP_PASSPHRASE: 'another passphrase' }),
      /The passphrase is not that of the backup/,
    );
    // The test's database has tables already, though no rows.
    await assert.rejects(restore(report.location, to, target.url, secret), /holds data of a platform/);
    await restore(report.location, to, target.url, secret, true);
    assert.deepEqual(digestOfFolder(to, FOLDERS), digestOfFolder(folder, FOLDERS));
    assert.deepEqual(await digestOfDatabase(target.url), await digestOfDatabase(source.url));
    assert.equal(readFileSync(path.join(to, 'secrets/encryption-key'), 'utf8'), `${'0123456789abcdef'.repeat(4)}\n`);
    assert.equal(statSync(path.join(to, 'secrets/encryption-key')).mode & 0o777, 0o600);
    assert.equal(existsSync(path.join(to, 'repositories/rep_1.git/hooks')), false);
    assert.equal(existsSync(path.join(to, 'restore.json')), false);
    await assert.rejects(restore(report.location, to, target.url, secret), /holds data of a platform/);
    const { aside } = await restore(report.location, to, target.url, secret, true);
    assert.deepEqual(digestOfFolder(aside!, FOLDERS), digestOfFolder(to, FOLDERS));
  } finally {
    await target.close();
  }
});

test('a backup without keys says so, and is restored only where the key is', async () => {
  const report = await backUp('plain.tar');
  assert.match(report.leftOut[0]!, /^The keys/);
  const target = await createTestDatabase();
  const to = path.join(work, 'keyless');
  try {
    await assert.rejects(
      restore(report.location, to, target.url, {}, true),
      /The variables and credentials in the backup are encrypted with a key that is not here/,
    );
    assert.equal(existsSync(path.join(to, 'routes')), false);
    await restore(report.location, to, target.url, { ENCRYPTION_KEY: '0123456789abcdef'.repeat(4) }, true);
    assert.equal(existsSync(path.join(to, 'secrets')), false);
  } finally {
    await target.close();
  }
});

test('an archive that is cut off or damaged anywhere is refused, and what is there stays as it is', async () => {
  const secret = { BACKUP_PASSPHRASE: PASSPHRASE };
  const archives = [await backUp('sealed.tar', secret), await backUp('open.tar')].map(({ location }) => location);
  const there = await makeDataFolder('what is there');
  const target = await createTestDatabase();
  const random = createSeededRandom();
  const state = async (): Promise<unknown> => [
    digestOfFolder(there, [...FOLDERS, 'secrets']),
    await digestOfDatabase(target.url),
    existsSync(path.join(there, 'restore.json')),
    readdirSync(there).filter((name) => name.startsWith('before-restore-')),
  ];
  try {
    const before = await state();
    for (let round = 0; round < DAMAGES; round++) {
      const bytes = readFileSync(archives[round % 2]!);
      const at = random.below(bytes.length);
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << random.below(8);
      const [what, damaged] = [
        ['cut off', bytes.subarray(0, at)] as const,
        ['a bit', flipped] as const,
        ['a hole', Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(5000))])] as const,
        ['more', Buffer.concat([bytes, bytes.subarray(at, at + 512)])] as const,
      ][(round >> 1) % 4]!;
      const file = path.join(work, 'damaged.tar');
      writeFileSync(file, damaged);
      const given = { ...secret, ENCRYPTION_KEY: '0123456789abcdef'.repeat(4) };
      const error = await restore(file, there, target.url, given, true).then(
        () => null,
        (reason: unknown) => reason as BackupError,
      );
      const place = `seed ${random.seed}, round ${round}, ${what} at ${at} of ${bytes.length}`;
      assert.ok(error instanceof BackupError, `${place}: ${String(error)}`);
      // A bit of its header may make it one of another format, or of another passphrase.
      assert.match(
        error.message,
        /^The (?:backup cannot be used: .+|backup has format \d+|passphrase is not|backup is encrypted)/,
        place,
      );
      assert.ok(error.advice !== '', place);
    }
    assert.deepEqual(await state(), before);
  } finally {
    await target.close();
    rmSync(there, { recursive: true });
  }
});

test('a backup of older tables is restored and brought up to date; one of newer tables is refused', async () => {
  const old = await createTestDatabase();
  const target = await createTestDatabase();
  const all = readMigrations();
  const sql = openSql({ url: old.url, name: 'test', connectionsMax: 1 });
  const environment = { DATABASE_URL: old.url };
  const run = (out: string) => runBackup({ folder, environment, cwd: work, version: '0.1.0', out });
  try {
    for (const schema of ownSchemas()) await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
    await sql.unsafe(`DROP TABLE ${LEDGER}, ${FORMER_LEDGER}`);
    const before = openPostgres({ url: old.url, name: 'test', connectionsMax: 1 });
    await migrate(before, all.slice(0, -1));
    await before.close();
    await sql`INSERT INTO control.organization (id, slug, name) VALUES ('org_2', 'old', 'Old')`;
    const older = await run('older.tar');
    assert.equal(older.schema, all.length - 1);
    const key = { ENCRYPTION_KEY: '0123456789abcdef'.repeat(4) };
    await restore(older.location, path.join(work, 'from-older'), target.url, key, true);
    const postgres = openPostgres({ url: target.url, name: 'test', connectionsMax: 1 });
    assert.deepEqual(await migrate(postgres), [all.at(-1)!.name]);
    assert.deepEqual(
      (await postgres.all<{ slug: string }>('SELECT slug FROM control.organization')).map(({ slug }) => slug),
      ['old'],
    );
    await postgres.close();
    await sql`INSERT INTO public.platform_migrations SELECT n, n || '_later.sql', repeat('a', 64), now(), 1
      FROM generate_series(${all.length}::int, ${all.length + 1}::int) n`;
    const newer = await run('newer.tar');
    await assert.rejects(restore(newer.location, path.join(work, 'from-newer'), target.url, key, true), {
      name: 'BackupError',
      reason: 'newer',
    });
    assert.equal(existsSync(path.join(work, 'from-newer')), false);
  } finally {
    await sql.end();
    await old.close();
    await target.close();
  }
});

test('a restore that is cut off at any step is ended by the same command, and what was there is whole beside it', async () => {
  const { location } = await backUp('steps.tar', { BACKUP_PASSPHRASE: PASSPHRASE });
  for (const step of ['verified', 'marked', 'cleared', 'files', 'tables']) {
    const there = await makeDataFolder('what is there');
    const elsewhere = path.join(there, 'db-storage');
    renameSync(path.join(there, 'databases'), elsewhere);
    const target = await createTestDatabase();
    try {
      const before = digestOfFolder(there, ['routes', 'artifacts', 'repositories', 'files', 'secrets']);
      const databases = digestOfFolder(elsewhere, ['shop']);
      const environment = { DATABASE_URL: target.url, DB_STORAGE_DIR: elsewhere, BACKUP_PASSPHRASE: PASSPHRASE };
      const run = async (stopAt: string): Promise<string | null> => {
        const backup = await openBackupAt(location, work, environment, PASSPHRASE);
        const onStep = (at: string): void => {
          if (at === stopAt) throw new Error('cut off');
        };
        const places = placesOf(environment, there);
        try {
          return (await restoreBackup({ backup, places, force: true, withoutKeys: false, onStep })).aside;
        } finally {
          await backup.close();
        }
      };
      await assert.rejects(run(step), /cut off/, step);
      assert.equal(existsSync(path.join(there, 'restore.json')), step !== 'verified', step);
      const aside = (await run(''))!;
      assert.deepEqual(
        digestOfFolder(aside, ['routes', 'artifacts', 'repositories', 'files', 'secrets']),
        before,
        step,
      );
      assert.deepEqual(digestOfFolder(`${elsewhere}-${path.basename(aside)}`, ['shop']), databases, step);
      const parts = ['routes', 'artifacts', 'repositories', 'files'];
      assert.deepEqual(digestOfFolder(there, parts), digestOfFolder(folder, parts), step);
      assert.deepEqual(await digestOfDatabase(target.url), await digestOfDatabase(source.url), step);
    } finally {
      await target.close();
      rmSync(there, { recursive: true });
    }
  }
});

test('databases outside of the data folder are not replaced without --force', async () => {
  const { location } = await backUp('elsewhere.tar', { BACKUP_PASSPHRASE: PASSPHRASE });
  const elsewhere = path.join(work, 'databases-elsewhere');
  cpSync(path.join(folder, 'databases'), elsewhere, { recursive: true });
  const target = await createTestDatabase();
  try {
    const more = { BACKUP_PASSPHRASE: PASSPHRASE, DB_STORAGE_DIR: elsewhere };
    await assert.rejects(
      restore(location, path.join(work, 'empty-folder'), target.url, more),
      /databases-elsewhere holds data of a platform/,
    );
  } finally {
    await target.close();
  }
});

test('a bucket gets what it lacks and no more; what no kept backup names goes, and any kept one is restored', async () => {
  const s3 = await startS3Server();
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
      { name: 'BackupError', reason: 'failed' },
    );
    assert.match(
      checkBackups(environment, own, Date.now()).message,
      /^The last backup failed \(s3:\/\/files\/of\/platform cannot be used: .*; the last good one is 0 h old$/,
    );
  } finally {
    await target.close();
    await s3.close();
    rmSync(own, { recursive: true });
  }
});

test('files go to a bucket and, taken along, from there to a disk', async () => {
  const s3 = await startS3Server();
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
    await s3.close();
  }
});

test('a folder that is none of a platform is not made by a backup of it', async () => {
  const folder = path.join(work, 'none');
  await assert.rejects(runBackup({ folder, environment: {}, cwd: work, version: '0.1.0' }), /There is no data folder/);
  assert.equal(existsSync(folder), false);
});

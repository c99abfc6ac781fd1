// A backup of a data folder and a Postgres, and its restore elsewhere: everything is back, compared by hash. Over
// buckets: backup-buckets.test.ts.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { type Failure, isFailure } from '#core/failure.ts';
import { runBackup } from '#operations/backup/run.ts';
import { readDataFolderRecord } from '#core/process/platform-record.ts';
import { isOlder } from '#operations/upgrade/pending.ts';
import { openPostgres } from '#postgres/connection.ts';
import { ownSchemas } from '#postgres/dump.ts';
import { FORMER_LEDGER, LEDGER } from '#postgres/ledger.ts';
import { migrate, readMigrations } from '#postgres/migrate.ts';
import { openSql } from '#postgres/sql.ts';
import {
  expectRestoreGoesOn,
  FOLDERS,
  openBackupSource,
  PASSPHRASE,
  type BackupSource,
} from '#test/setup/backup-cases.ts';
import { digestOfDatabase, digestOfFolder, makeDataFolder } from '#test/setup/backups.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

/** Archives that are damaged. */
const DAMAGES = fuzzRounds(24);
let source: BackupSource;
let { folder, work, backUp, restore } = {} as BackupSource;

before(async () => {
  source = await openBackupSource();
  ({ folder, work, backUp, restore } = source);
});
after(() => source.close());

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
      /The passphrase does not match the backup/,
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
    // A start of this version makes no backup of it.
    assert.equal(isOlder(to), false);
    assert.equal(readDataFolderRecord(to)?.version, '0.1.0');
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
      /The variables and credentials in the backup are encrypted with a key that this machine does not have/,
    );
    assert.equal(existsSync(path.join(to, 'routes')), false);
    await restore(report.location, to, target.url, { ENCRYPTION_KEY: '0123456789abcdef'.repeat(4) }, true);
    assert.equal(existsSync(path.join(to, 'secrets')), false);
  } finally {
    await target.close();
  }
});

test('an archive that is cut off or damaged is refused, or restored as it was where nothing is lost', async () => {
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
    let before = await state();
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
        (reason: unknown) => reason as Failure<'backup'>,
      );
      const place = `seed ${random.seed}, round ${round}, ${what} at ${at} of ${bytes.length}`;
      if (error === null) {
        // A frame of zstd has bits that say nothing (RFC 8878, 3.1.1.1): each content has the hash that it had.
        assert.equal(what, 'a bit', place);
        assert.deepEqual(digestOfFolder(there, FOLDERS), digestOfFolder(folder, FOLDERS), place);
        assert.deepEqual(await digestOfDatabase(target.url), await digestOfDatabase(source.url), place);
        before = await state();
        continue;
      }
      assert.ok(isFailure(error, 'backup'), `${place}: ${String(error)}`);
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
      kind: 'backup',
      reason: 'newer',
    });
    assert.equal(existsSync(path.join(work, 'from-newer')), false);
  } finally {
    await sql.end();
    await old.close();
    await target.close();
  }
});

for (const step of ['marked', 'tables'] as const)
  test(`a restore that is cut off behind "${step}" is ended by the same command, and what was there is whole beside it`, () =>
    expectRestoreGoesOn(source, step));

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

test('a folder that is none of a platform is not made by a backup of it', async () => {
  const folder = path.join(work, 'none');
  await assert.rejects(runBackup({ folder, environment: {}, cwd: work, version: '0.1.0' }), /There is no data folder/);
  assert.equal(existsSync(folder), false);
});

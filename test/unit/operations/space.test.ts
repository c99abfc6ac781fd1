// Room on disks before a backup or a restore: what is counted, and where.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { isFailure } from '#core/failure.ts';
import { locationsOf } from '#operations/locations.ts';
import { backupNeeds, checkSpace, restoreNeeds } from '#operations/space.ts';
import { openSql } from '#postgres/sql.ts';
import { fillDatabase } from '#test/setup/backups.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

const MB = 1024 * 1024;
const folder = mkdtempSync(path.join(tmpdir(), 'platform-space-'));
after(() => rmSync(folder, { recursive: true }));

test('places on one disk share its room, of which 64 MB stay free', () => {
  const free = 100 * MB;
  const diskOf = (at: string) => ({ disk: at.startsWith('/a') ? 1 : 2, free });
  const need = (at: string, bytes: number) => ({ folder: at, bytes });
  checkSpace([need('/a', 36 * MB), need('/b', 36 * MB)], diskOf);
  assert.throws(
    () => checkSpace([need('/a', 30 * MB), need('/b', 1), need('/a/x', 7 * MB)], diskOf),
    (error) => {
      assert.ok(isFailure(error, 'backup'));
      assert.equal(error.reason, 'space');
      assert.equal(error.message, `It may take ${101 * MB} bytes, and the disk of /a/x has ${free} bytes free`);
      return true;
    },
  );
});

test('a backup counts tables, databases, files and artifacts, and a copy of the largest database', async () => {
  for (const [name, bytes] of [
    ['artifacts/a/x', 100],
    ['files/content/aa/y', 200],
    ['databases/shop/main.sqlite', 3000],
    ['databases/shop/other.sqlite', 4000],
  ] as const) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), 'x'.repeat(bytes));
  }
  const database = await createTestDatabase();
  const sql = openSql({ url: database.url, name: 'test', connectionsMax: 1 });
  try {
    const locations = locationsOf({ DATABASE_URL: database.url }, folder);
    assert.deepEqual(await backupNeeds(locations, null, '/b'), [
      { folder, bytes: 4000 },
      { folder: '/b', bytes: 7300 },
    ]);
    assert.deepEqual(await backupNeeds(locations, null, null), [{ folder, bytes: 4000 }]);
    const [, empty] = await backupNeeds(locations, sql, '/b');
    await fillDatabase(database.url);
    const [, filled] = await backupNeeds(locations, sql, '/b');
    assert.ok(empty!.bytes > 7300 && filled!.bytes > empty!.bytes, `${empty!.bytes} ${filled!.bytes}`);
  } finally {
    await sql.end();
    await database.close();
  }
});

test('a restore counts tables where the embedded Postgres is, and files where they stay on a disk', () => {
  const part = (kind: 'table' | 'database' | 'content' | 'file', bytes: number) => ({
    kind,
    name: kind,
    bytes,
    sha256: '',
    blobs: [],
  });
  const parts = [part('table', 10), part('database', 100), part('content', 1000), part('file', 10_000)];
  const needs = (environment: Record<string, string>) =>
    restoreNeeds(locationsOf(environment, '/f'), parts).map(({ folder: at, bytes }) => `${at} ${bytes}`);
  assert.deepEqual(needs({}), ['/f 11000', '/f 30', '/f/databases 100']);
  const s3 = Object.fromEntries(
    ['ENDPOINT', 'BUCKET', 'REGION', 'ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'].map((name) => [`FILES_S3_${name}`, 'x']),
  );
  assert.deepEqual(needs({ ...s3, DATABASE_URL: 'postgres://db/x', DB_STORAGE_DIR: '/d' }), [
    '/f 10000',
    '/f 0',
    '/d 100',
  ]);
});

// The store of databases over a libSQL cloud, and what is the cloud's alone.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type DatabaseLimits, defaultLimits } from '#core/limits.ts';
import { databaseOps as ops } from '#core/database-request.ts';
import { startCloudService } from '#runtime/databases/service/cloud-service.ts';
import { createDatabaseClient } from '#runtime/stores/database-service.ts';
import { createDatabaseCloud, type DatabaseCloud } from '#runtime/stores/database-cloud.ts';
import { cloudName, databaseCloudSettings } from '#runtime/stores/database-cloud-api.ts';
import { cloudEnvironment, startDatabaseCloud, type TestDatabaseCloud } from '#test/setup/database-cloud.ts';
import { databaseStoreContract } from './database-store.ts';

const at = { namespace: 'shop', resource: 'main' };

async function open(
  t: TestContext,
  limits: Partial<DatabaseLimits> = {},
): Promise<{ cloud: TestDatabaseCloud; store: DatabaseCloud }> {
  const cloud = await startDatabaseCloud();
  const store = createDatabaseCloud(databaseCloudSettings(cloudEnvironment(cloud)), {
    ...defaultLimits.database,
    ...limits,
  });
  t.after(async () => {
    store.close();
    await cloud.close();
  });
  return { cloud, store };
}

async function query(store: DatabaseCloud, sql: string, place = at): Promise<unknown> {
  const { e, r } = JSON.parse((await store.run(place, ops.query, 0, JSON.stringify([sql, []]))) as string) as {
    e?: unknown;
    r: unknown;
  };
  return e ?? r;
}

databaseStoreContract(
  async () => {
    const cloud = await startDatabaseCloud();
    const store = createDatabaseCloud(databaseCloudSettings(cloudEnvironment(cloud)));
    return {
      store,
      async close() {
        store.close();
        await cloud.close();
      },
    };
  },
  { hasInfinities: false },
);

test('the group and the database are made when they are first asked for, once', async (t) => {
  const { cloud, store } = await open(t);
  await Promise.all([query(store, 'SELECT 1'), query(store, 'SELECT 1')]);
  const name = cloudName('apps', at);
  assert.match(name, /^apps-shop-main-[0-9a-f]{10}$/);
  assert.deepEqual(cloud.calls, [`GET /databases/${name}`, 'POST /databases', 'POST /groups', 'POST /databases']);
});

test('names in the cloud are short, allowed and different for different databases', () => {
  const names = [
    cloudName('p', { namespace: 'a_b', resource: 'c' }),
    cloudName('p', { namespace: 'a-b', resource: 'c' }),
    cloudName('p', { namespace: 'a', resource: 'b-c' }),
    cloudName('p', { namespace: 'x'.repeat(100), resource: 'y'.repeat(100) }),
  ];
  assert.equal(new Set(names).size, 4);
  for (const name of names) assert.match(name, /^[a-z0-9]+(?:-[a-z0-9]+)*$/);
  for (const name of names) assert.ok(name.length <= 64, name);
});

test('every variable that is missing is named, and no token is ever shown', async (t) => {
  assert.throws(() => databaseCloudSettings({ DBCLOUD_API_TOKEN: 'secret' }), {
    message:
      'DB_STORAGE_MODE=managed-cloud needs DBCLOUD_ORGANIZATION, DBCLOUD_GROUP_NAME, DBCLOUD_PRIMARY_LOCATION, DBCLOUD_DATABASE_PREFIX, DBCLOUD_GROUP_AUTH_TOKEN',
  });
  const { cloud } = await open(t);
  const wrong = createDatabaseCloud(
    databaseCloudSettings({ ...cloudEnvironment(cloud), DBCLOUD_API_TOKEN: 'not-the-token' }),
  );
  await assert.rejects(query(wrong, 'SELECT 1'), (error: Error) => {
    assert.equal(
      error.message,
      'The database cannot be reached: the database cloud answered the lookup of a database with status 401: unauthorized',
    );
    return true;
  });
});

test('a cloud that fails or is gone is a clear error, and works again afterwards', async (t) => {
  const { cloud, store } = await open(t);
  cloud.failWith(503);
  await assert.rejects(query(store, 'SELECT 1'), { code: 'database_unavailable' });
  cloud.failWith(null);
  assert.deepEqual(await query(store, 'SELECT 1'), [[1]]);
  cloud.failWith(500);
  await assert.rejects(query(store, 'SELECT 1'), {
    message: 'The database cannot be reached: the database cloud answered with status 500',
  });
  cloud.failWith(null);
  assert.deepEqual(await query(store, 'SELECT 1'), [[1]]);
});

test('migrations are applied once each, and a branch begins with the content of its database', async (t) => {
  const { store } = await open(t);
  const files = [
    ['1.sql', 'CREATE TABLE t (a);\nINSERT INTO t VALUES (1)'],
    ['2.sql', 'INSERT INTO t VALUES (2)'],
  ] as const;
  assert.deepEqual(await store.migrate(at, files), ['1.sql', '2.sql']);
  assert.deepEqual(await store.migrate(at, files), []);
  await assert.rejects(store.migrate(at, [['3.sql', 'INSERT INTO t VALUES (3);\nnonsense']]), {
    message: 'Migration 3.sql, line 2: near "nonsense": syntax error',
  });
  assert.deepEqual(await query(store, 'SELECT a FROM t'), [[1], [2]]);
  await store.branch(at, 'preview');
  const branch = { namespace: 'shop', resource: 'preview' };
  await query(store, 'DELETE FROM t', branch);
  assert.deepEqual(await query(store, 'SELECT a FROM t'), [[1], [2]]);
  await assert.rejects(store.branch(at, 'preview'), { code: 'conflict' });
  assert.equal((await store.branch(at, 'preview', { unlessThere: true })).made, false);
  await assert.rejects(store.branch(at, 'old', { at: new Date(Date.now() - 11 * 86_400_000) }), {
    message: 'The database cloud can restore the last 10 days (DBCLOUD_PITR_RETENTION_DAYS)',
  });
  await store.remove(branch);
  assert.deepEqual(await query(store, 'SELECT name FROM sqlite_schema', branch), []);
});

test('a transaction that takes too long is rolled back', async (t) => {
  const { store } = await open(t, { transactionMs: 100 });
  await query(store, 'CREATE TABLE t (a)');
  const { t: transaction } = JSON.parse((await store.run(at, ops.begin, 0, '[]')) as string) as { t: number };
  await store.run(at, ops.query, transaction, JSON.stringify(['INSERT INTO t VALUES (1)', []]));
  for (;;) {
    const { e } = JSON.parse((await store.run(at, ops.query, transaction, '["SELECT 1",[]]')) as string) as {
      e?: unknown;
    };
    if (e === undefined) continue;
    assert.deepEqual(e, [
      'SQLITE_ABORT',
      'the transaction has ended: it took longer than DB_TRANSACTION_MS (100) and was rolled back',
    ]);
    break;
  }
  assert.deepEqual(await query(store, 'SELECT count(*) FROM t'), [[0]]);
});

test('what the database service refuses is refused here too', async (t) => {
  const { store, cloud } = await open(t);
  for (const sql of [
    'BEGIN',
    '/**/ commit',
    'SAVEPOINT x',
    "ATTACH 'x' AS y",
    'VACUUM',
    "EXPLAIN ATTACH 'x' AS y",
    'PRAGMA journal_mode=off',
    'PRAGMA database_list',
  ]) {
    assert.match(String(await query(store, sql)), /^SQLITE_AUTH,not authorized: /, sql);
  }
  assert.deepEqual(cloud.calls, []);
});

test('a dump is imported by one transaction, what is larger than one request is refused by its bound', async (t) => {
  const { store } = await open(t);
  const service = await startCloudService({ databases: store, limits: defaultLimits.database, report: assert.fail });
  const client = createDatabaseClient({ socketPath: service.socketPath });
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(async () => {
    client.close();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const file = join(folder, 'dump.sql');
  writeFileSync(
    file,
    `PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE child (id INTEGER PRIMARY KEY, p INTEGER REFERENCES parent(id));
INSERT INTO child VALUES(1,1);\nCREATE TABLE parent (id INTEGER PRIMARY KEY);\nINSERT INTO parent VALUES(1);\nCOMMIT;\n`,
  );
  assert.deepEqual(await client.import(at, { id: 'one', file }), {
    state: 'done',
    statements: 4,
    part: 1,
    reason: null,
    leftOut: [],
  });
  assert.deepEqual(await query(store, 'SELECT c.id FROM child c JOIN parent p ON p.id = c.p'), [[1]]);
  writeFileSync(file, 'CREATE TABLE lost (a);\nINSERT INTO nowhere VALUES (1);\n');
  await assert.rejects(client.import(at, { id: 'two', file }), /no such table: nowhere/);
  assert.deepEqual(await query(store, `SELECT name FROM sqlite_schema WHERE name = 'lost'`), []);
  writeFileSync(file, `-- ${'x'.repeat(1_100_000)}\n`);
  await assert.rejects(client.import(at, { id: 'three', file }), /files of up to 1048576 bytes are imported/);
  assert.equal((await client.import(at, { id: 'three' })).state, 'unknown');
});

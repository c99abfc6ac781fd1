// Migrations of a database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareDatabases } from '#test/setup/databases.ts';

const databases = shareDatabases();

test('migrations are applied once each, in the order of their names', async () => {
  const { client, at, query } = databases.of('once');
  const first = [
    '0001_users.sql',
    'CREATE TABLE users (id INTEGER PRIMARY KEY);\nCREATE INDEX i ON users (id);',
  ] as const;
  const second = ['0002_name.sql', 'ALTER TABLE users ADD COLUMN name TEXT'] as const;
  assert.deepEqual(await client.migrate(at, [second, first]), ['0001_users.sql', '0002_name.sql']);
  assert.deepEqual(await client.migrate(at, [first, second, ['0003.sql', 'SELECT 1']]), ['0003.sql']);
  assert.deepEqual(await client.migrate(at, [[first[0], first[1].replaceAll('\n', '\r\n')]]), []);
  assert.deepEqual(await query('SELECT filename FROM platform_internal_db_migrations ORDER BY 1'), [
    ['0001_users.sql'],
    ['0002_name.sql'],
    ['0003.sql'],
  ]);
  assert.deepEqual(await query('DELETE FROM platform_internal_db_migrations'), [
    'SQLITE_AUTH',
    'not authorized: tables platform_internal_* belong to the platform',
  ]);
});

test('a migration that fails leaves nothing behind, and those before it stay', async () => {
  const { client, at, query } = databases.of('fails');
  const files = [
    ['1.sql', 'CREATE TABLE a (x)'],
    ['2.sql', 'CREATE TABLE b (x);\n\nINSERT INTO c VALUES (1);'],
  ] as const;
  await assert.rejects(client.migrate(at, files), {
    code: 'migration_failed',
    message: 'Migration 2.sql, line 3: no such table: c',
  });
  assert.deepEqual(await query("SELECT name FROM sqlite_schema WHERE name IN ('a', 'b')"), [['a']]);
  assert.deepEqual(await client.migrate(at, [files[0], ['2.sql', 'CREATE TABLE b (x)']]), ['2.sql']);
  await assert.rejects(client.migrate(at, [['1.sql', 'CREATE TABLE a (x, y)']]), {
    code: 'migration_changed',
    message:
      'Migration 1.sql was changed after it was applied: restore the file, and put the change into a new migration',
  });
});

test('a migration may rebuild a table that others refer to', async () => {
  const { client, at, query } = databases.of('rebuild');
  await client.migrate(at, [
    [
      '1.sql',
      'CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id) ON DELETE CASCADE); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1)',
    ],
  ]);
  const rebuild =
    'PRAGMA foreign_keys=OFF; CREATE TABLE n (id INTEGER PRIMARY KEY, x); INSERT INTO n (id) SELECT id FROM p; DROP TABLE p; ALTER TABLE n RENAME TO p; PRAGMA foreign_keys=ON;';
  await client.migrate(at, [['2.sql', rebuild]]);
  assert.deepEqual(await query('SELECT p FROM c'), [[1]]);
  const breaks = 'PRAGMA foreign_keys=OFF; DELETE FROM p;';
  await assert.rejects(client.migrate(at, [['3.sql', breaks]]), {
    message: 'Migration 3.sql, line 1: FOREIGN KEY constraint failed: c refers to p',
  });
  assert.deepEqual(await query('DELETE FROM p; '), []);
  assert.deepEqual(await query('SELECT * FROM c'), []);
});

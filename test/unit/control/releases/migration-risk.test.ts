import assert from 'node:assert/strict';
import { test } from 'node:test';
import { riskyStatements } from '#control/releases/migration-risk.ts';

test('what only adds is safe: tables, indexes, columns that need no value, rows', () => {
  const safe = `
    -- DROP TABLE a;
    CREATE TABLE a (b TEXT DEFAULT 'x; DROP TABLE a');
    create index i on a (b); /* DELETE FROM a; */
    ALTER TABLE a ADD COLUMN c;
    ALTER TABLE a ADD d TEXT NOT NULL DEFAULT '';
    INSERT INTO a VALUES ('it''s; UPDATE a');
    PRAGMA foreign_keys = OFF;`;
  assert.deepEqual(riskyStatements(safe), []);
  assert.deepEqual(riskyStatements(''), []);
});

test('what takes away, renames, narrows or rewrites is risky', () => {
  for (const statement of [
    'DROP TABLE a',
    'ALTER TABLE a RENAME TO b',
    'ALTER TABLE a DROP COLUMN b',
    'ALTER TABLE a ADD COLUMN b TEXT NOT NULL',
    'CREATE UNIQUE INDEX i ON a (b)',
    'UPDATE a SET b = 1',
    'DELETE FROM a',
    'CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1',
    "CREATE TABLE x (y); DROP TABLE 'x'",
  ])
    assert.notDeepEqual(riskyStatements(`${statement};`), [], statement);
  assert.deepEqual(riskyStatements('DROP TABLE a; CREATE TABLE b (c);'), ['DROP TABLE a']);
});

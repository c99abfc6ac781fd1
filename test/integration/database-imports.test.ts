// What is put into a database as a file: dumps as D1, the sqlite3 program and Python write them, and SQLite files; all
// or nothing, whatever is in them.
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { ask, at, query, shareDatabases } from '#test/setup/databases.ts';
import { until } from '#test/setup/until.ts';
import { importInto } from '#test/setup/imports.ts';

const shared = shareDatabases({ statementMs: 1000 });
const databases = () => shared.of('shop');
const place = (resource: string) => ({ namespace: 'shop', resource });
const rows = (sql: string, where: typeof at): Promise<unknown> => query(databases().client, sql, [], where);
const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`;

test('tables come in any order, and keys are checked at the end', async () => {
  const dumps = {
    // sqlite3 .dump
    dump: `PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE child (id INTEGER PRIMARY KEY, p INTEGER REFERENCES parent(id));
INSERT INTO child VALUES(1,1);\nCREATE TABLE parent (id INTEGER PRIMARY KEY);\nINSERT INTO parent VALUES(1);\nCOMMIT;\n`,
    // wrangler d1 export
    d1: `PRAGMA defer_foreign_keys=TRUE;\nCREATE TABLE child (id INTEGER PRIMARY KEY, p INTEGER REFERENCES parent(id));
INSERT INTO "child" ("id","p") VALUES(1,1);\nCREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT);
INSERT INTO "parent" ("id") VALUES(1);\nDELETE FROM sqlite_sequence;\nINSERT INTO "sqlite_sequence" ("name","seq") VALUES('parent',41);\n`,
  };
  for (const [name, text] of Object.entries(dumps)) {
    assert.deepEqual(await importInto(databases(), { text }, place(name)), {
      state: 'done',
      statements: name === 'dump' ? 4 : 6,
      part: 1,
      reason: null,
      leftOut: [],
    });
    assert.deepEqual(await rows('SELECT c.id, p.id FROM child c JOIN parent p ON p.id = c.p', place(name)), [[1, 1]]);
  }
  assert.deepEqual(await rows('INSERT INTO parent DEFAULT VALUES RETURNING id', place('d1')), [[42]]);
  const broken = await importInto(databases(), { text: 'INSERT INTO child VALUES (7, 70), (8, 80);' }, place('dump'));
  assert.deepEqual(
    [broken.state, broken.reason],
    [
      'failed',
      'FOREIGN KEY constraint failed: child row 7 refers to parent, child row 8 refers to parent (SQLITE_CONSTRAINT_FOREIGNKEY)',
    ],
  );
  assert.deepEqual(await rows('SELECT count(*) FROM child', place('dump')), [[1]]);
});

test('a statement that fails leaves nothing behind, and is named with its line', async () => {
  const text = `-- a comment; with a semicolon\nCREATE TABLE made (a);\nINSERT INTO made VALUES ('x;
y');\n\nINSERT INTO nowhere VALUES (1);\n`;
  const failed = await importInto(databases(), { text }, place('lines'));
  assert.equal(failed.reason, 'no such table: nowhere (SQLITE_ERROR, line 6: INSERT INTO nowhere VALUES (1))');
  assert.deepEqual(await rows(TABLES, place('lines')), []);
});

test('a SQLite file takes the place of a database, whole', async () => {
  const { directory } = databases();
  const file = join(directory, 'source.db');
  const source = new DatabaseSync(file);
  source.exec(`CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT UNIQUE, n INT GENERATED ALWAYS AS (id * 2));
    CREATE TABLE child (p INT REFERENCES parent(id), v ANY) STRICT;
    CREATE TABLE pairs (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
    INSERT INTO parent (id, t) VALUES (1, 'a'), (9007199254740993, 'b'), (7, 'hello world');
    DELETE FROM parent WHERE t = 'a';
    INSERT INTO child (rowid, p, v) VALUES (-3, 7, x'00ff'), (12, 9007199254740993, 1e999), (40, 7, 'é');
    INSERT INTO pairs VALUES ('k', NULL);
    CREATE VIRTUAL TABLE found USING fts5(t);
    INSERT INTO found (rowid, t) VALUES (5, 'hello world');
    CREATE VIEW names AS SELECT t FROM parent;
    CREATE INDEX by_value ON child (v) WHERE v IS NOT NULL;
    CREATE TRIGGER gone AFTER DELETE ON parent BEGIN DELETE FROM child WHERE p = old.id; END;
    ANALYZE; PRAGMA user_version = 12; VACUUM`);
  const all = (db: DatabaseSync, sql: string): unknown[] => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  };
  const said = [
    `SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name`,
    'SELECT rowid, * FROM parent ORDER BY rowid',
    'SELECT rowid, * FROM child ORDER BY rowid',
    'SELECT * FROM pairs',
    'SELECT rowid, * FROM found ORDER BY rowid',
    'SELECT * FROM sqlite_sequence ORDER BY name',
    'SELECT * FROM sqlite_stat1 ORDER BY tbl, idx',
    'PRAGMA user_version',
  ];
  const before = said.map((sql) => all(source, sql));
  source.close();
  await rows('CREATE TABLE old (a)', place('file'));
  const refused = await importInto(databases(), { file }, place('file'));
  assert.match(refused.reason ?? '', /^the database is not empty: importing a SQLite file replaces all of it/);
  assert.equal((await importInto(databases(), { file, replace: true }, place('file'))).reason, null);
  const copy = join(directory, 'copy.db');
  await databases().client.backup(place('file'), copy);
  const target = new DatabaseSync(copy, { readOnly: true });
  assert.deepEqual(
    said.map((sql) => all(target, sql)),
    before,
  );
  assert.equal((all(target, 'PRAGMA integrity_check')[0] as { integrity_check: string }).integrity_check, 'ok');
  target.close();
  const bytes = readFileSync(file);
  writeFileSync(
    join(directory, 'torn.db'),
    Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 7)]),
  );
  const torn = await importInto(databases(), { file: join(directory, 'torn.db'), replace: true }, place('file'));
  assert.match(torn.reason ?? '', /^the file is damaged: /);
  assert.deepEqual(await rows('SELECT count(*) FROM names', place('file')), [[2]]);
});

test('a statement that never ends is ended, and others are served meanwhile', async () => {
  const { client, directory } = databases();
  await rows('CREATE TABLE here (a)', place('busy'));
  const file = join(directory, 'endless.sql');
  writeFileSync(
    file,
    'CREATE TABLE t (a);\nWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45) INSERT INTO t SELECT randomblob(999999) FROM n;\nINSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\n',
  );
  let state = await client.import(place('busy'), { id: 'endless', file });
  assert.equal(state.state, 'running');
  await assert.rejects(
    client.import(place('another'), { id: 'second', file }),
    /another import of the project is running: only one at a time/,
  );
  assert.deepEqual((await ask(client, ops.query, ['SELECT count(*) FROM here', []], place('busy')))['r'], [[0]]);
  while (state.state === 'running') state = await client.import(place('busy'), { id: 'endless', waitMs: 1000 });
  assert.equal(state.reason, 'a statement took longer than DB_STATEMENT_MS (1000)');
  assert.deepEqual(await rows(TABLES, place('busy')), [['here']]);
  await client.import(place('busy'), { id: 'cancelled', file });
  let cancelled = await client.import(place('busy'), { id: 'cancelled', cancel: true });
  while (cancelled.state === 'running')
    cancelled = await client.import(place('busy'), { id: 'cancelled', waitMs: 1000 });
  assert.deepEqual([cancelled.state, cancelled.reason], ['failed', 'it was cancelled']);
  // Nothing of what it wrote stays on the disk.
  const log = join(directory, 'shop', 'busy.sqlite-wal');
  await until(async () => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) < 1_000_000);
  assert.deepEqual((await client.import(at, { id: 'never' })).state, 'unknown');
});

// What SQL of a tenant may not do, however it is written.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { SqlRefusal } from '#core/database-request.ts';
import { Connection } from '#runtime/databases/sqlite/connection.ts';
import { splitStatements } from '#runtime/databases/sqlite/sql-text.ts';
import { toRefusal } from '#runtime/databases/sqlite/sqlite-errors.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
let connection: Connection;

before(() => {
  connection = new Connection({
    path: join(folder, 'main.sqlite'),
    limits: defaultLimits.database,
    synchronous: 'normal',
  });
  connection.own('CREATE TABLE platform_internal_ledger (a)');
  run('CREATE TABLE t (a)');
});
after(() => {
  connection.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(sql: string, values: unknown[] = []): string {
  return connection.run(connection.prepare(sql), values).json;
}

/** The refusal's code and message; fails when there is none. */
function refusal(sql: string, values: unknown[] = []): string {
  try {
    run(sql, values);
  } catch (error) {
    const { code, message } = toRefusal(error);
    assert.doesNotMatch(message, /tmp|\.sqlite|platform-test/, `${sql} shows a path: ${message}`);
    return `${code} ${message}`;
  }
  return assert.fail(`${sql} is allowed`);
}

test('no other file is reached', () => {
  for (const sql of [
    "ATTACH 'other.sqlite' AS o",
    "aTtAcH/**/DATABASE':memory:'AS o",
    "EXPLAIN ATTACH 'x' AS y",
    'DETACH main',
    "VACUUM INTO '/tmp/stolen.sqlite'",
    'VACUUM',
    'VACUUM main',
    "SELECT load_extension('x')",
    "SELECT LOAD_EXTENSION('x', 'y')",
    'SELECT "load_extension"(\'x\')',
    "SELECT readfile('/etc/passwd')",
    "SELECT writefile('/tmp/x', 'y')",
    "SELECT fts3_tokenizer('simple')",
    "CREATE VIRTUAL TABLE v USING csv(filename='/etc/passwd')",
    'CREATE VIRTUAL TABLE v USING fts4(a)',
    'CREATE VIRTUAL TABLE v USING dbstat',
    'CREATE VIRTUAL TABLE v USING sqlite_dbpage',
    'SELECT * FROM sqlite_dbpage',
  ]) {
    assert.match(refusal(sql), /^SQLITE_(?:AUTH not authorized|ERROR (?:no such|unsafe use of|authorization))/, sql);
  }
  assert.match(refusal('ATTACH ? AS o', ['x']), /^SQLITE_AUTH/);
});

test('what a view, a trigger or a default hides is refused when it is used', () => {
  run("CREATE VIEW v AS SELECT load_extension('x')");
  assert.match(refusal('SELECT * FROM v'), /^SQLITE_(?:AUTH not authorized|ERROR unsafe use of load_extension)/);
  run("CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT load_extension('x'); END");
  assert.match(
    refusal('INSERT INTO t VALUES (1)'),
    /^SQLITE_(?:AUTH not authorized|ERROR unsafe use of load_extension)/,
  );
  run('DROP TRIGGER tr');
  run('DROP VIEW v');
  assert.match(refusal("CREATE TABLE g (a, b AS (load_extension('x')))"), /^SQLITE_(?:AUTH|ERROR)/);
});

test('where the file lies stays unknown', () => {
  for (const sql of [
    'PRAGMA database_list',
    'PRAGMA main.database_list',
    'SELECT * FROM pragma_database_list',
    'SELECT file FROM "pragma_database_list"',
    'SELECT file FROM [PRAGMA_DATABASE_LIST]',
    "SELECT file FROM pragma_database_list WHERE name = 'main'",
    'WITH x AS (SELECT * FROM pragma_database_list) SELECT * FROM x',
    'SELECT (SELECT max(file) FROM pragma_database_list)',
    'PRAGMA temp_store_directory',
    'PRAGMA data_store_directory',
  ]) {
    assert.match(refusal(sql), /^SQLITE_AUTH not authorized/, sql);
  }
  run('CREATE VIEW hidden AS SELECT file FROM pragma_database_list');
  assert.match(refusal('SELECT * FROM hidden'), /^SQLITE_(?:AUTH not authorized|ERROR unsafe use)/);
  run('DROP VIEW hidden');
  run("CREATE VIRTUAL TABLE content USING fts5(file, content='pragma_database_list')");
  assert.match(refusal("INSERT INTO content (content) VALUES ('rebuild')"), /^SQLITE_/);
  assert.match(refusal('SELECT file FROM content'), /^SQLITE_/);
  run('DROP TABLE content');
});

test('settings of the connection and of the file are not for tenants', () => {
  for (const sql of [
    'PRAGMA journal_mode=DELETE',
    'PRAGMA journal_mode(off)',
    'PRAGMA synchronous=OFF',
    'PRAGMA writable_schema=ON',
    'PRAGMA trusted_schema=ON',
    'PRAGMA temp_store=FILE',
    "PRAGMA temp_store_directory='/tmp'",
    'PRAGMA max_page_count=1',
    'PRAGMA cache_size=1000000000',
    'PRAGMA mmap_size=1000000000',
    'PRAGMA locking_mode=EXCLUSIVE',
    'PRAGMA hard_heap_limit=1',
    'PRAGMA soft_heap_limit=1',
    'PRAGMA wal_checkpoint(TRUNCATE)',
    'PRAGMA wal_autocheckpoint=0',
    'PRAGMA page_size=512',
    "PRAGMA encoding='UTF-16'",
    'PRAGMA schema_version=1',
    'PRAGMA query_only=1',
    'PRAGMA recursive_triggers=1',
    'PRAGMA ignore_check_constraints=1',
    'PRAGMA legacy_alter_table=1',
    'PRAGMA case_sensitive_like=1',
    'PRAGMA busy_timeout=100000',
    'PRAGMA threads=8',
    'PRAGMA incremental_vacuum',
    'PRAGMA nonsense',
    'EXPLAIN PRAGMA journal_mode=DELETE',
  ]) {
    assert.match(refusal(sql), /^SQLITE_AUTH not authorized: PRAGMA \w+ (?:is not available|cannot be set)$/, sql);
  }
});

test('transactions are not left open for others', () => {
  for (const sql of [
    'BEGIN',
    'BEGIN IMMEDIATE',
    'COMMIT',
    'END',
    'ROLLBACK',
    'SAVEPOINT a',
    'RELEASE a',
    'ROLLBACK TO a',
    '/* */ begin -- x',
  ]) {
    assert.match(refusal(sql), /^SQLITE_AUTH not authorized: use batch\(\) or transaction\(\)/, sql);
  }
  assert.equal(connection.inTransaction, false);
});

test('nothing temporary is shared with the next request', () => {
  for (const sql of [
    'CREATE TEMP TABLE x (a)',
    'CREATE TEMPORARY VIEW x AS SELECT 1',
    'CREATE TABLE temp.x (a)',
    'CREATE VIEW temp.x AS SELECT 1',
    'CREATE VIRTUAL TABLE temp.x USING fts5(a)',
    'CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END',
  ]) {
    assert.match(refusal(sql), /^SQLITE_AUTH not authorized/, sql);
  }
});

test('the schema and the tables of the platform are not written', () => {
  for (const sql of [
    "UPDATE sqlite_schema SET sql = 'x'",
    'DELETE FROM sqlite_master',
    "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'x')",
    'INSERT INTO platform_internal_ledger VALUES (1)',
    'UPDATE PLATFORM_INTERNAL_LEDGER SET a = 1',
    'DELETE FROM main."platform_internal_ledger"',
    'DROP TABLE platform_internal_ledger',
    'ALTER TABLE platform_internal_ledger ADD COLUMN b',
    'CREATE TABLE platform_internal_other (a)',
    'ALTER TABLE t RENAME TO platform_internal_other',
    'alter table main.t rename to "PLATFORM_internal_other"',
    'CREATE INDEX i ON platform_internal_ledger (a)',
    'CREATE TRIGGER tr AFTER INSERT ON platform_internal_ledger BEGIN SELECT 1; END',
    'WITH x AS (SELECT 1) INSERT INTO platform_internal_ledger SELECT * FROM x',
  ]) {
    assert.match(
      refusal(sql),
      /^SQLITE_(?:AUTH not authorized: tables platform_internal_|ERROR table sqlite_master may not be modified)/,
      sql,
    );
  }
  assert.equal(run('SELECT count(*) FROM platform_internal_ledger'), '"c":["count(*)"],"r":[[0]]');
});

test('what a schema, a full-text index and tools need is allowed', () => {
  for (const sql of [
    "CREATE VIRTUAL TABLE docs USING fts5(body, content='posts', content_rowid='id')",
    'CREATE TABLE posts (id INTEGER PRIMARY KEY, body TEXT)',
    'CREATE TRIGGER posts_ai AFTER INSERT ON posts BEGIN INSERT INTO docs (rowid, body) VALUES (new.id, new.body); END',
    "INSERT INTO posts (body) VALUES ('hello world')",
    "SELECT snippet(docs, 0, '[', ']', '…', 5) FROM docs WHERE docs MATCH 'hello' ORDER BY bm25(docs)",
    'CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1)',
    'INSERT INTO boxes VALUES (1, 0, 1)',
    'CREATE VIEW v AS SELECT * FROM posts',
    'CREATE UNIQUE INDEX i ON posts (lower(body)) WHERE body IS NOT NULL',
    'ALTER TABLE posts ADD COLUMN meta TEXT AS (upper(body)) VIRTUAL',
    'ALTER TABLE posts RENAME TO articles',
    'INSERT INTO articles (body) VALUES (1) ON CONFLICT DO NOTHING RETURNING *',
    'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3) SELECT sum(x) FROM c',
    "SELECT value FROM json_each('[1,2]')",
    'EXPLAIN QUERY PLAN SELECT * FROM t',
    'EXPLAIN SELECT 1',
    'ANALYZE',
    'REINDEX',
    'PRAGMA table_info(t)',
    'PRAGMA table_xinfo(t)',
    "SELECT name FROM pragma_table_info('t')",
    'SELECT m.name, p.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p',
    'PRAGMA table_list',
    'PRAGMA index_list(t)',
    'PRAGMA foreign_key_list(t)',
    'PRAGMA foreign_key_check',
    'PRAGMA quick_check',
    'PRAGMA defer_foreign_keys=ON',
    'PRAGMA user_version=7',
    'PRAGMA user_version',
    'PRAGMA optimize',
    'PRAGMA foreign_keys=OFF',
    'DROP TABLE boxes',
    'DROP VIEW v',
    'DROP TABLE docs',
    'DROP TABLE articles',
  ]) {
    assert.doesNotThrow(() => run(sql), sql);
  }
  assert.equal(run('PRAGMA foreign_keys'), '"c":["foreign_keys"],"r":[[1]]');
});

test('random SQL reaches nothing but its database', () => {
  const random = createSeededRandom();
  const pieces = [
    'SELECT ',
    'INSERT INTO t VALUES (1)',
    'DELETE FROM t ',
    'UPDATE t SET a=',
    'CREATE TABLE ',
    'CREATE TEMP TABLE ',
    'CREATE VIRTUAL TABLE x USING fts5(a',
    ')',
    '(',
    'DROP TABLE ',
    'ATTACH ',
    "'/tmp/platform-stolen.sqlite'",
    ' AS o',
    'VACUUM INTO ',
    'VACUUM',
    'PRAGMA ',
    'database_list',
    'journal_mode=delete',
    'writable_schema=1',
    'pragma_database_list',
    'file',
    ' FROM ',
    't',
    'sqlite_schema',
    'BEGIN',
    'COMMIT',
    'ROLLBACK',
    'SAVEPOINT s',
    'load_extension(',
    "'x'",
    'EXPLAIN ',
    'WITH x AS (',
    'a',
    '*',
    ',',
    ';',
    ' ',
    '/*',
    '*/',
    '--\n',
    '"',
    '`',
    '[',
    ']',
    '1',
    '?',
    'RETURNING *',
    ' WHERE ',
    ' LIMIT 1',
    "content='pragma_database_list'",
    'TRIGGER tr AFTER INSERT ON t BEGIN ',
    ' END',
    'zeroblob(1000000000)',
    "printf('%.*c', 1000000000, 1)",
    'platform_internal_ledger',
  ];
  const attempt = (sql: string): void => {
    const message = `seed ${random.seed}: ${JSON.stringify(sql)}`;
    try {
      for (const statement of splitStatements(sql, 50)) {
        const { json } = connection.run(
          connection.compile(statement),
          Array.from({ length: statement.parameters }, () => 1),
        );
        assert.doesNotMatch(json, /platform-test/, message);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      const refused = error instanceof SqlRefusal ? error : toRefusal(error);
      assert.doesNotMatch(
        refused.message.replaceAll('/tmp/platform-stolen.sqlite', ''),
        /platform-test|\/tmp/,
        message,
      );
    }
    assert.equal(connection.inTransaction, false, message);
  };
  for (let round = 0; round < fuzzRounds(400); round++) attempt(random.text(pieces, 8));
  assert.deepEqual(
    readdirSync(folder).toSorted(),
    ['main.sqlite', 'main.sqlite-shm', 'main.sqlite-wal'],
    `seed ${random.seed}`,
  );
  assert.equal(readdirSync('/tmp').includes('platform-stolen.sqlite'), false);
  assert.deepEqual(connection.own('PRAGMA quick_check'), [['ok']]);
  assert.deepEqual(connection.own('PRAGMA journal_mode'), [['wal']]);
  assert.deepEqual(connection.own('SELECT count(*) FROM platform_internal_ledger'), [[0]]);
});

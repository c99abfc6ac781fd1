// What an import takes of a text, and what it refuses, in this process: the fence of the statements of files.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { ImportTransaction, type Imported } from '#runtime/databases/import/import-transaction.ts';
import { StatementReader, textOf } from '#runtime/databases/import/sql-file.ts';
import { wordsOf } from '#runtime/databases/import/statement-words.ts';
import { Connection } from '#runtime/databases/sqlite/connection.ts';

const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`;

/** A database of its own that texts are imported into, and asked of. */
function database(t: TestContext): { take(text: string, replace?: boolean): Imported; rows(sql: string): unknown[] } {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'main.sqlite');
  return {
    take(text, replace = false) {
      const connection = new Connection({ path, limits: defaultLimits.database, synchronous: 'normal', isBulk: true });
      try {
        const transaction = new ImportTransaction(connection, (_isLong, run) => run());
        if (replace) transaction.empty();
        const reader = new StatementReader(1_000_000);
        for (const statement of reader.push(text)) transaction.take(statement);
        for (const statement of reader.end()) transaction.take(statement);
        transaction.check();
        return transaction.commit();
      } finally {
        connection.close();
      }
    },
    rows(sql) {
      const db = new DatabaseSync(path, { returnArrays: true });
      try {
        return db
          .prepare(sql)
          .all()
          .map((row) => Array.from(row as unknown as unknown[]));
      } finally {
        db.close();
      }
    },
  };
}

/** As the sqlite3 program writes a database with a full-text index. */
const dumpWithIndex = (data: string): string => `PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE notes(id INTEGER PRIMARY KEY, t TEXT);
INSERT INTO notes VALUES(4,'hello world');
INSERT INTO notes VALUES(5,'not in the index');
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','found','found',0,'CREATE VIRTUAL TABLE found using fts5(t, content=''notes'', content_rowid=''id'')');
CREATE TABLE IF NOT EXISTS 'found_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO found_data VALUES(1,X'0102');
INSERT INTO found_data VALUES(10,X'000000000101010001010101');
INSERT INTO found_data VALUES(137438953473,X'${data}');
CREATE TABLE IF NOT EXISTS 'found_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO found_idx VALUES(1,X'',2);
CREATE TABLE IF NOT EXISTS 'found_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO found_docsize VALUES(4,X'02');
CREATE TABLE IF NOT EXISTS 'found_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO found_config VALUES('version',4);
CREATE TRIGGER added AFTER INSERT ON notes BEGIN INSERT INTO found(rowid,t) VALUES(new.id,new.t); END;
PRAGMA writable_schema=OFF;
COMMIT;
`;

test('a full-text index comes as it was, and a damaged one is made again or refused', (t) => {
  const { take, rows } = database(t);
  const sound = '00000018063068656c6c6f0402020105776f726c64040203040a';
  take(dumpWithIndex(sound));
  const found = (word: string): unknown[] => rows(`SELECT rowid FROM found WHERE found MATCH '${word}'`);
  assert.deepEqual([found('hello'), found('index')], [[[4]], []]);
  take(`INSERT INTO notes VALUES (6, 'hello again')`);
  assert.deepEqual(found('hello'), [[4], [6]]);
  // Nothing of it reaches whoever asks the index later.
  const torn = 'ffffff18ff3068656c6c6f0402020105776f726c64ff0203ff0a';
  take(dumpWithIndex(torn), true);
  assert.deepEqual([found('hello'), found('index')], [[[4]], [[5]]]);
  const lost = dumpWithIndex(torn).replace(`content=''notes'', content_rowid=''id''`, `content=''''`);
  assert.throws(() => take(lost, true), { message: /^the full-text index found is damaged: / });
  assert.deepEqual(found('index'), [[5]]);
});

/** As the sqlite3 program writes a table of two vectors. */
const dumpWithVectors = `BEGIN TRANSACTION;
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','t','t',0,'CREATE VIRTUAL TABLE t USING vec0(e float[2], chunk_size=8)');
CREATE TABLE IF NOT EXISTS "t_info" (key text primary key, value any);
INSERT INTO t_info VALUES('CREATE_VERSION','v0.1.9');
CREATE TABLE IF NOT EXISTS "t_chunks"(chunk_id INTEGER PRIMARY KEY AUTOINCREMENT,size INTEGER NOT NULL,validity BLOB NOT NULL,rowids BLOB NOT NULL);
INSERT INTO t_chunks VALUES(1,8,X'03',X'07000000000000000800000000000000${'00'.repeat(48)}');
CREATE TABLE IF NOT EXISTS "t_rowids"(rowid INTEGER PRIMARY KEY AUTOINCREMENT,id,chunk_id INTEGER,chunk_offset INTEGER);
INSERT INTO t_rowids VALUES(7,NULL,1,0);
INSERT INTO t_rowids VALUES(8,NULL,1,1);
CREATE TABLE IF NOT EXISTS "t_vector_chunks00"(rowid PRIMARY KEY,vectors BLOB NOT NULL);
INSERT INTO t_vector_chunks00 VALUES(1,X'0000803f00000040000000000000803f${'00'.repeat(48)}');
PRAGMA writable_schema=OFF;
COMMIT;
`;

test('vectors come row by row, and chunks that sqlite-vec would not have written are refused', (t) => {
  const { take, rows } = database(t);
  take(dumpWithVectors);
  assert.deepEqual(rows('SELECT hex(validity), hex(substr(rowids, 1, 16)) FROM t_chunks'), [
    ['03', '07000000000000000800000000000000'],
  ]);
  assert.deepEqual(rows('SELECT hex(substr(vectors, 1, 16)) FROM t_vector_chunks00'), [
    ['0000803F00000040000000000000803F'],
  ]);
  assert.deepEqual(rows("SELECT name FROM sqlite_schema WHERE name GLOB 'platform_internal*'"), []);
  for (const [from, to, reason] of [
    ["X'03'", "'x'", /^the vectors of t are damaged: chunk 1$/],
    ["X'07", "X'0707", /^the vectors of t are damaged: chunk 1$/],
    ["X'0000803f", "X'00", /^the vectors of t are damaged: chunk 1 of platform_internal_import_\d$/],
    ['t_rowids VALUES', 't_auxiliary VALUES', /^no such table: t_auxiliary/],
    ['0000803f00000040', '0000c07f00000040', /^t: value 1: a vector has only finite numbers, and number 1 is none$/],
    ["X'07000000", "X'08000000", /^t: UNIQUE constraint failed on t primary key/],
    ['INSERT INTO t_rowids VALUES(7,NULL,1,0);', "UPDATE t_chunks SET validity = x'';", /may not be modified/],
    ['INSERT INTO t_rowids VALUES(7,NULL,1,0);', 'DELETE FROM t_vector_chunks00;', /belong to their `vec0` table/],
  ] as const) {
    const changed = dumpWithVectors.replace(from, to);
    assert.notEqual(changed, dumpWithVectors);
    assert.throws(() => take(changed, true), { message: reason }, to);
  }
  assert.deepEqual(rows('SELECT count(*) FROM t_rowids'), [[2]]);
});

test('of the platform’s own tables migrations count as applied, and messages stay behind', (t) => {
  const { take, rows } = database(t);
  const hash = 'a'.repeat(64);
  const text = `CREATE TABLE platform_internal_db_migrations (filename TEXT PRIMARY KEY, executed_at TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO platform_internal_db_migrations VALUES('0001_notes.sql','2026-01-01T00:00:00.000Z','${hash}');
CREATE TABLE platform_internal_outbox (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, message TEXT NOT NULL);
INSERT INTO platform_internal_outbox VALUES(1,'m','{}');
CREATE TABLE notes (a);\n`;
  assert.deepEqual(take(text).leftOut, ['platform_internal_outbox']);
  assert.deepEqual(rows('SELECT * FROM platform_internal_db_migrations'), [
    ['0001_notes.sql', '2026-01-01T00:00:00.000Z', hash],
  ]);
  assert.deepEqual(rows(TABLES), [['notes'], ['platform_internal_db_migrations']]);
});

test('what a worker may not do, a file may not', (t) => {
  const { take, rows } = database(t);
  take(
    `CREATE VIRTUAL TABLE kept USING fts5(t); INSERT INTO platform_internal_db_migrations VALUES('a.sql', 'now', '${'0'.repeat(64)}')`,
  );
  const before = rows(TABLES);
  for (const [sql, reason] of [
    [`DELETE FROM platform_internal_db_migrations`, /^not authorized: tables platform_internal_\* belong to/],
    [`DROP TABLE platform_internal_db_migrations`, /^not authorized: tables platform_internal_\* belong to/],
    [`INSERT INTO platform_internal_db_migrations VALUES('x',1,2)`, /is a file, a time and a SHA-256/],
    [`INSERT INTO platform_internal_db_migrations SELECT 1, 2, 3`, /are only imported from VALUES \(\.\.\.\)/],
    [`ATTACH '/etc/passwd' AS p`, /^not authorized: ATTACH/],
    [`VACUUM INTO '/tmp/copy'`, /^cannot VACUUM from within a transaction/],
    [`CREATE TABLE cut (a); ROLLBACK; -- due to errors`, /^the file ends in a ROLLBACK: .* is incomplete$/],
    [`SAVEPOINT a`, /^not authorized: the file is one transaction/],
    [`PRAGMA trusted_schema=ON`, /^not authorized: PRAGMA trusted_schema is not available/],
    [`CREATE TEMP TABLE x (a)`, /^not authorized: temporary tables/],
    [`SELECT load_extension('x')`, /^not authorized: the function load_extension/],
    [`INSERT INTO kept_data VALUES(99, x'00')`, /^table kept_data may not be modified/],
    [`DELETE FROM sqlite_schema`, /^table sqlite_master may not be modified/],
    [
      `INSERT INTO sqlite_schema VALUES('table','x','x',2,'CREATE TABLE x(a)')`,
      /^not authorized: only rows of virtual tables are imported/,
    ],
    [
      `INSERT INTO sqlite_schema VALUES('table','x','x',0,'CREATE VIRTUAL TABLE x USING dbstat')`,
      /^not authorized: virtual tables of dbstat cannot be created/,
    ],
    [
      `CREATE VIRTUAL TABLE n USING fts5(t); INSERT INTO n_data VALUES(1, x'00'); INSERT INTO kept_data VALUES(99, x'00')`,
      /^table kept_data may not be modified/,
    ],
    [`INSERT INTO x VALUES (?)`, /^no such table: x/],
    [`CREATE TABLE x (a); INSERT INTO x VALUES (?)`, /^a statement of a file has its values in its text/],
    [`CREATE TABLE x (a); INSERT INTO x VALUES (:name)`, /^named parameters such as :name are not supported/],
    [`CREATE TABLE x (a); INSERT INTO x VALUES ('\0')`, /^SQL text must not contain a NUL character/],
  ] as const)
    assert.throws(() => take(sql), { name: 'SqlRefusal', message: reason }, sql);
  assert.deepEqual(rows(TABLES), before);
});

test('a text in pieces gives the statements of the whole, wherever it is cut', () => {
  const text = `-- one; two\nCREATE TABLE a (b); /* ; */ INSERT INTO a VALUES ('x''; y'), ("z;");;
CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT CASE 1 WHEN 1 THEN 2 END; END;\nSELECT 'last' -- no end`;
  const whole = [
    ['CREATE TABLE a (b)', 2],
    [`INSERT INTO a VALUES ('x''; y'), ("z;")`, 2],
    ['CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT CASE 1 WHEN 1 THEN 2 END; END', 3],
    [`SELECT 'last'`, 4],
  ];
  for (let size = 1; size <= text.length; size++) {
    const reader = new StatementReader(10_000);
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...reader.push(text.slice(at, at + size)));
    found.push(...reader.end());
    assert.deepEqual(
      found.map(({ sql, line }) => [sql, line]),
      whole,
      `in pieces of ${size}`,
    );
  }
});

test('text of PowerShell is read, bytes that are no text are named', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'dump.sql');
  const read = async (bytes: Uint8Array): Promise<string> => {
    writeFileSync(file, bytes);
    let all = '';
    for await (const { text } of textOf(file)) all += text;
    return all;
  };
  const text = `INSERT INTO t VALUES('it''s; "é"');\r\n`;
  assert.equal(await read(Buffer.from(`\ufeff${text}`, 'utf16le')), text);
  assert.equal(await read(Buffer.from(`\ufeff${text}`, 'utf8')), text);
  const long = `-- ${'é€𝄞'.repeat(100_000)}\n${text}`;
  assert.ok((await read(Buffer.from(long))) === long, 'a character that is cut by the end of a piece is whole');
  await assert.rejects(read(Buffer.from([0x2d, 0x2d, 0xff, 0x0a])), {
    message: 'the file is not UTF-8 text (between bytes 0 and 4)',
  });
});

test('a statement that is longer than any may be is refused before it is whole', () => {
  const reader = new StatementReader(100);
  assert.throws(() => [...reader.push(`SELECT '${'x'.repeat(200)}`)], {
    message: 'a statement has more than 100 characters',
  });
});

test('the first words of a statement say what it is about', () => {
  const said = (sql: string): string => {
    const { verb, name, on } = wordsOf(sql);
    return [verb, name, on].join('|');
  };
  assert.equal(said(`INSERT OR REPLACE INTO "a""b" VALUES (1)`), 'INSERT|a"b|');
  assert.equal(said('/* x */ replace into main.[odd name] values(1)'), 'INSERT|odd name|');
  assert.equal(said(`CREATE TABLE IF NOT EXISTS 'found_data'(id)`), 'CREATE TABLE|found_data|');
  assert.equal(said('create unique index if not exists i on "t" (a)'), 'CREATE INDEX|i|t');
  assert.equal(said('CREATE TRIGGER x AFTER DELETE ON t BEGIN SELECT 1; END'), 'CREATE TRIGGER|x|t');
  assert.equal(said('CREATE VIRTUAL TABLE v USING fts5(a)'), 'CREATE VIRTUAL TABLE|v|');
  assert.equal(said('PRAGMA main.foreign_keys = OFF'), 'PRAGMA|foreign_keys|');
  assert.equal(said('DELETE FROM sqlite_sequence'), 'DELETE|sqlite_sequence|');
  assert.equal(said('COMMIT TRANSACTION'), 'COMMIT||');
});

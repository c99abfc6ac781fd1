// Tables of vectors: what sqlite-vec may be made to do through SQL, and what it may not.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { toWire } from '#core/database-request.ts';
import { defaultLimits } from '#core/limits.ts';
import { Connection } from '#runtime/databases/sqlite/connection.ts';
import { toRefusal } from '#runtime/databases/sqlite/sqlite-errors.ts';
import { vectorLibrary } from '#runtime/databases/sqlite/vector-module.ts';

const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
const path = join(folder, 'main.sqlite');
let connection: Connection;

const open = (library: { vectorLibrary?: string | null } = {}): Connection =>
  new Connection({ path, limits: defaultLimits.database, synchronous: 'normal', ...library });

before(() => {
  connection = open();
});
beforeEach(() => {
  connection.ownScript('DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS plain');
  run('CREATE VIRTUAL TABLE t USING vec0(id INTEGER PRIMARY KEY, e float[3], year INTEGER, title TEXT, +body TEXT)');
});
after(() => {
  connection.close();
  rmSync(folder, { recursive: true, force: true });
});

const floats = (...numbers: number[]): unknown => toWire(new Uint8Array(new Float32Array(numbers).buffer));

function run(sql: string, values: unknown[] = [], on = connection): unknown[][] {
  const { json } = on.run(on.prepare(sql), values);
  return (JSON.parse(`{${json}}`) as { r: unknown[][] }).r;
}

function refusal(sql: string, values: unknown[] = [], on = connection): string {
  try {
    run(sql, values, on);
  } catch (error) {
    const { code, message } = toRefusal(error);
    assert.doesNotMatch(message, /\/tmp|platform-test|node_modules/, message);
    return `${code} ${message}`;
  }
  return assert.fail(`${sql} is allowed`);
}

const insert = 'INSERT INTO t (id, e, year, title, body) VALUES (?, ?, ?, ?, ?)';
const put = (id: number, ...numbers: number[]): unknown =>
  run(insert, [{ i: String(id) }, floats(...numbers), { i: '2026' }, `title ${id}`, `body ${id}`]);

test('the nearest rows are found, with conditions, and those that are deleted are not', () => {
  put(1, 1, 0, 0);
  put(2, 0, 1, 0);
  put(3, 0, 0.5, 0);
  const nearest = 'SELECT id, distance, body FROM t WHERE e MATCH ? AND k = ?';
  assert.deepEqual(run(nearest, [floats(0, 1, 0), 2]), [
    [2, 0, 'body 2'],
    [3, 0.5, 'body 3'],
  ]);
  assert.deepEqual(run(`${nearest} AND title = 'title 3'`, ['[0, 1, 0]', 2]), [[3, 0.5, 'body 3']]);
  run('DELETE FROM t WHERE id = 2');
  assert.deepEqual(run('SELECT id FROM t WHERE e MATCH ? ORDER BY distance LIMIT 1', [floats(0, 1, 0)]), [[3]]);
  assert.deepEqual(run("SELECT round(vec_distance_cosine('[1, 0]', '[1, 1]'), 3)"), [[0.293]]);
});

test('a vector or a search that cannot be is refused with what to do', () => {
  const values = (id: unknown, e: unknown, year: unknown = { i: '1' }): unknown[] => [id, e, year, 'a', 'b'];
  assert.match(refusal(insert, values({ i: '1' }, floats(1, 2))), /Expected 3 dimensions but received 2/);
  assert.match(refusal(insert, values(1, floats(1, 2, 3))), /bind a bigint, such as BigInt\(id\)$/);
  assert.match(refusal(insert, values({ i: '1' }, floats(1, 2, 3), 5)), /bind a bigint, such as BigInt\(id\)$/);
  assert.equal(
    refusal(insert, values({ i: '1' }, floats(1, Number.NaN, 3))),
    'SQLITE_MISMATCH value 2: a vector has only finite numbers, and number 2 is none',
  );
  assert.match(refusal(insert, values({ i: '1' }, '[1, NaN, 3]')), /^SQLITE_MISMATCH value 2/);
  assert.match(refusal(insert, values({ i: '1' }, '[1, null, 3]')), /JSON parsing error/);
  put(1, 1, 2, 3);
  assert.match(refusal(insert, values({ i: '1' }, floats(1, 2, 3))), /delete the row before, in the same batch$/);
  const search = 'SELECT id FROM t WHERE e MATCH ?';
  assert.match(refusal(search, [floats(1, 2, 3)]), /A LIMIT or 'k = \?' constraint is required/);
  assert.match(refusal(`${search} LIMIT 10000000`, [floats(1, 2, 3)]), /the limit is 4096/);
  assert.match(refusal(`${search} AND k = 1`, [floats(1, 2)]), /Expected 3 dimensions but received 2/);
  assert.match(refusal(`${search} AND k = 1`, [floats(1, 2, Number.POSITIVE_INFINITY)]), /number 3 is none$/);
  assert.deepEqual(run('SELECT count(*) FROM t'), [[1]]);
});

test('a row that is refused halfway leaves nothing in its transaction', () => {
  connection.own('BEGIN');
  refusal(insert, [{ i: '1' }, floats(1, 2, 3), 5, 'a', 'b']);
  put(2, 1, 2, 3);
  connection.own('COMMIT');
  assert.deepEqual(run('SELECT id FROM t'), [[2]]);
});

test('a chunk of vectors may be larger than any other value', () => {
  run('CREATE VIRTUAL TABLE plain USING vec0(e float[768])');
  run('INSERT INTO plain (e) VALUES (?)', [floats(...Array.from({ length: 768 }, () => 0.5))]);
  assert.deepEqual(run('SELECT count(*) FROM plain_rowids'), [[1]]);
  assert.match(refusal('SELECT zeroblob(3000000)'), /^SQLITE_TOOBIG/);
  run('DROP TABLE plain');
  run('CREATE VIRTUAL TABLE plain USING vec0(e float[8192], chunk_size=4096)');
  const vector = floats(...Array.from({ length: 8192 }, () => 0.5));
  assert.match(refusal('INSERT INTO plain (e) VALUES (?)', [vector]), /at most 67108864 bytes/);
});

test('what sqlite-vec trusts is out of reach, by every way', () => {
  put(1, 1, 2, 3);
  run('CREATE TABLE plain (a)');
  run('CREATE TRIGGER writes AFTER INSERT ON plain BEGIN DELETE FROM t_vector_chunks00; END');
  for (const sql of [
    'DELETE FROM t_vector_chunks00',
    "UPDATE main.T_VECTOR_CHUNKS00 SET vectors = x''",
    "INSERT OR REPLACE INTO t_vector_chunks00 (rowid, vectors) VALUES (1, x'00')",
    "WITH one AS (SELECT 1) UPDATE t_vector_chunks00 SET vectors = x'' WHERE 1 IN one",
    'DELETE FROM t_vector_chunks00 LIMIT 1',
    'DROP TABLE t_vector_chunks00',
    'CREATE TABLE other_vector_chunks00 (a)',
    'CREATE INDEX i ON t_vector_chunks00 (rowid)',
    'CREATE TRIGGER g AFTER INSERT ON t_vector_chunks00 BEGIN SELECT 1; END',
    'ALTER TABLE plain RENAME TO "t_vector_chunks01"',
    'INSERT INTO plain VALUES (1)',
    'ALTER TABLE t RENAME TO u',
    'UPDATE t_chunks SET size = 8',
    "UPDATE t_chunks SET validity = x''",
    'DELETE FROM t_rowids',
    "INSERT INTO t_info VALUES ('a', 'b')",
    "UPDATE t_metadatachunks00 SET data = x''",
    "UPDATE t_metadatatext01 SET data = ''",
    'DELETE FROM t_auxiliary',
    'DROP TABLE t_chunks',
    'CREATE VIRTUAL TABLE v USING vec0_of_mine(e float[3])',
    "SELECT load_extension('vec0')",
  ])
    assert.match(refusal(sql), /SQLITE_AUTH|may not be (?:modified|dropped|altered)|SQLITE_ERROR not authorized/, sql);
  assert.deepEqual(run('SELECT id, vec_to_json(e) FROM t'), [[1, '[1.000000,2.000000,3.000000]']]);
  run('DROP TRIGGER writes');
});

test('a table that another connection made is known, and one that it replaced', () => {
  const other = open();
  run('DROP TABLE t');
  run('CREATE TABLE t (id, e, year, title, body)');
  run(insert, [1, 'x', 2, 'a', 'b'], other);
  run('DROP TABLE t');
  run('CREATE VIRTUAL TABLE t USING vec0(id INTEGER PRIMARY KEY, e float[3], year INTEGER, title TEXT, +body TEXT)');
  assert.match(refusal('UPDATE t SET e = ?', [floats(1, Number.NaN, 3)], other), /finite/);
  other.close();
});

test('a machine without sqlite-vec runs all other SQL, and keeps the tables as they are', () => {
  assert.equal(vectorLibrary('linux', 's390x'), null);
  assert.equal(vectorLibrary('win32', 'x64'), null);
  put(1, 1, 2, 3);
  for (const library of [null, join(folder, 'no-library.so')]) {
    const without = open({ vectorLibrary: library });
    assert.deepEqual(run('SELECT 1', [], without), [[1]]);
    const system = `${process.platform} ${process.arch}`;
    for (const [sql, what] of [
      ['SELECT id FROM t', 'no such module: vec0'],
      ["SELECT vec_f32('[1]')", 'no such function: vec_f32 at offset 7'],
      ['CREATE VIRTUAL TABLE other USING vec0(e float[3])', 'no such module: vec0'],
    ] as const)
      assert.equal(
        refusal(sql, [], without),
        `SQLITE_ERROR ${what}: sqlite-vec is not installed here, or has no build for ${system}`,
      );
    for (const sql of ['DELETE FROM t_rowids', "UPDATE t_chunks SET validity = x''", 'DROP TABLE t_chunks'])
      assert.match(refusal(sql, [], without), /^SQLITE_AUTH/, sql);
    without.close();
  }
  assert.deepEqual(run('SELECT id FROM t'), [[1]]);
});

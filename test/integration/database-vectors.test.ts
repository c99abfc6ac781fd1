// Tables of vectors through the database service: previews, copies, migrations, transactions, and what is put into a
// database as a file.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { toWire } from '#core/database-request.ts';
import { loadVectors } from '#runtime/databases/sqlite/vector-module.ts';
import { query, shareDatabases } from '#test/setup/databases.ts';
import { importInto } from '#test/setup/imports.ts';

const shared = shareDatabases({ statementMs: 1000, sharedStatementMs: 400 });
const databases = () => shared.of('shop');
const place = (resource: string) => ({ namespace: 'shop', resource });
const rows = (sql: string, resource: string, values: unknown[] = []): Promise<unknown> =>
  query(databases().client, sql, values, place(resource));

const floats = (...numbers: number[]): Uint8Array => new Uint8Array(new Float32Array(numbers).buffer);

const TABLES = `
  CREATE VIRTUAL TABLE notes USING vec0(
    id INTEGER PRIMARY KEY, user TEXT PARTITION KEY, e float[3], small int8[4], bits bit[16] ,
    year INTEGER, score FLOAT, open BOOLEAN, title TEXT, +body TEXT, +size INTEGER, chunk_size=8);
  CREATE VIRTUAL TABLE "named ""ones" USING vec0(id TEXT PRIMARY KEY, e float[2] distance_metric=cosine);`;
const everything = [
  'SELECT id, user, e, small, bits, year, score, open, title, body, size, typeof(size) FROM notes ORDER BY id',
  'SELECT id, e FROM "named ""ones" ORDER BY id',
  `SELECT id, distance FROM notes WHERE e MATCH '[3, 0, 0]' AND k = 3 AND user = 'ada' AND title <> 'x' ORDER BY distance`,
  `SELECT id FROM notes WHERE bits MATCH vec_bit(x'0f0f') AND k = 2 ORDER BY distance`,
];

/** A file of somebody with rows of every kind, and some that are deleted. */
function sourceFile(name: string, more = ''): string {
  const folder = join(databases().directory, 'sources');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  const source = new DatabaseSync(file, { allowExtension: true });
  loadVectors(source);
  source.exec(TABLES);
  const insert = source.prepare(
    `INSERT INTO notes (id, user, e, small, bits, year, score, open, title, body, size)
     VALUES (?, ?, ?, vec_int8(?), vec_bit(?), ?, ?, ?, ?, ?, ?)`,
  );
  for (let n = 1; n <= 20; n++)
    insert.run(
      BigInt(n),
      n % 3 === 0 ? null : n % 2 === 0 ? 'ada' : 'bob',
      floats(n, 0.5, -n),
      new Uint8Array([n, 255, 0, 1]),
      new Uint8Array([n, 15]),
      BigInt(-n),
      n + 0.5,
      BigInt(n % 2),
      n % 2 === 0 ? `été ${n}` : `a title that is longer than its place in the chunk ${n}`,
      n === 5 ? null : `body ${n}`,
      BigInt(n) * 9007199254740993n,
    );
  source.exec('DELETE FROM notes WHERE id IN (4, 17)');
  const named = source.prepare('INSERT INTO "named ""ones" (id, e) VALUES (?, ?)');
  for (const key of ['one', 'two']) named.run(key, floats(1, key === 'one' ? 0 : 2));
  source.exec(more);
  source.close();
  return file;
}

/** What a file has, as rows of the service. */
function contentOf(file: string): unknown[] {
  const source = new DatabaseSync(file, { allowExtension: true, returnArrays: true });
  loadVectors(source);
  try {
    return everything.map((sql) => {
      const statement = source.prepare(sql);
      statement.setReadBigInts(true);
      return (statement.all() as unknown as (bigint | string | number | Uint8Array | null)[][]).map((row) =>
        row.map(toWire),
      );
    });
  } finally {
    source.close();
  }
}

test('a SQLite file brings its vectors, and those of the tables that it takes the place of are gone', async () => {
  const file = sourceFile('whole.db');
  await rows('CREATE VIRTUAL TABLE old USING vec0(e float[3])', 'file');
  assert.equal((await importInto(databases(), { file, replace: true }, place('file'))).reason, null);
  assert.deepEqual(await Promise.all(everything.map((sql) => rows(sql, 'file'))), contentOf(file));
  assert.deepEqual(await rows(`SELECT name FROM sqlite_schema WHERE name GLOB '*[^0-9]old*'`, 'file'), []);
  const copy = join(databases().directory, 'copy.db');
  await databases().client.backup(place('file'), copy);
  assert.deepEqual(contentOf(copy), contentOf(file));
});

test('a preview has a copy of the vectors, and what it changes stays there', async () => {
  const { client } = databases();
  assert.deepEqual(
    await client.migrate(place('made'), [
      ['1.sql', 'CREATE VIRTUAL TABLE t USING vec0(e float[2]);'],
      ['2.sql', "INSERT INTO t (rowid, e) VALUES (1, '[1, 2]'), (2, '[3, 4]');"],
    ]),
    ['1.sql', '2.sql'],
  );
  await client.branch(place('made'), 'made~~preview');
  await rows('DELETE FROM t WHERE rowid = 1', 'made~~preview');
  const nearest = `SELECT rowid FROM t WHERE e MATCH '[1, 2]' ORDER BY distance LIMIT 1`;
  assert.deepEqual(await rows(nearest, 'made'), [[1]]);
  assert.deepEqual(await rows(nearest, 'made~~preview'), [[2]]);
  await assert.rejects(
    client.migrate(place('made'), [['3.sql', "INSERT INTO t (e) VALUES ('[1, 2, 3]');"]]),
    /Expected 2 dimensions but received 3/,
  );
});

test('what takes too long or too much is ended as every other statement, and loses nothing', async () => {
  await rows('CREATE VIRTUAL TABLE t USING vec0(e float[2])', 'much');
  await rows("INSERT INTO t (rowid, e) VALUES (1, '[1, 2]')", 'much');
  const many = 'WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000)';
  assert.match(
    JSON.stringify(await rows(`${many} INSERT INTO t (rowid, e) SELECT i, '[1, 2]' FROM n`, 'much')),
    /SQLITE_INTERRUPT/,
  );
  assert.deepEqual(await rows('SELECT rowid FROM t', 'much'), [[1]]);
  assert.deepEqual(await rows("SELECT rowid FROM t WHERE e MATCH '[1, 2]' AND k = 4096", 'much'), [[1]]);
});

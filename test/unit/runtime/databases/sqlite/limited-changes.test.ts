// Changes with LIMIT in other words, beside a SQLite that has these: better-sqlite3 is built with the option.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { limitedChange, shapeOf, shapeSql } from '#runtime/databases/sqlite/limited-changes.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const tables = [
  'CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)',
  'CREATE TABLE t (id TEXT, a, b, rowid)',
  'CREATE TABLE t (id, a, b, PRIMARY KEY (b, id)) WITHOUT ROWID',
  'CREATE TABLE t (id, a UNIQUE, b, oid, _rowid_)',
];
const pieces = {
  begin: [
    '',
    '',
    'WITH t AS (SELECT 3 AS id LIMIT 1) ',
    'WITH "update" (x) AS MATERIALIZED (SELECT 1), c AS (SELECT 2) ',
    'EXPLAIN QUERY PLAN ',
  ],
  target: ['t', 't', 'main.t', '"t"', '[t]', 'main.`T`', 't AS x', 'main."t" AS "x y"', 't NOT INDEXED', 'temp.t', 'v'],
  set: [
    'a = a + ?',
    "a = 'LIMIT', b = (SELECT 1 LIMIT 1)",
    '(a, b) = (?, ?2)',
    'a = b IS DISTINCT FROM 1',
    'a = 1 FROM (SELECT 1)',
    '',
  ],
  where: [
    '',
    '',
    'WHERE b > ?',
    "WHERE a <> 'ORDER BY' AND id IN (SELECT id FROM t ORDER BY b LIMIT 4)",
    'WHERE (b',
    'WHERE 1 UNION SELECT 1',
  ],
  returning: ['', '', 'RETURNING id, a', 'RETURNING *, ? AS given', 'RETURNING (SELECT count(*) FROM t) >= ?3'],
  order: [
    'ORDER BY id',
    'ORDER BY b DESC, id',
    'ORDER BY (CASE WHEN b = ? THEN 0 ELSE 1 END), id',
    'ORDER BY id LIMIT',
  ],
  limit: [
    'LIMIT 1',
    'LIMIT ?',
    'LIMIT 2 OFFSET 1',
    'LIMIT 1, ?1',
    'limit (SELECT 2)',
    '',
    'LIMIT 1 -- end',
    'LIMIT 1) OR (1',
    'LIMIT 2;',
  ],
} as const;

test('what they change, return and refuse is what SQLite changes, returns and refuses', (t) => {
  const random = createSeededRandom();
  t.diagnostic(`FUZZ_SEED=${random.seed}`);
  let accepted = 0;
  for (let round = 0; round < fuzzRounds(300); round++) {
    const { begin, target, set, where, returning, order, limit } = pieces;
    const change = random.pick(['UPDATE ', 'UPDATE OR IGNORE ', 'DELETE FROM ']);
    const words = [
      random.pick(begin) + change + random.pick(target),
      change === 'DELETE FROM ' ? '' : `SET ${random.pick(set)}`,
      random.pick(where),
      random.pick(returning),
      random.pick(order),
      random.pick(limit),
    ];
    // Sometimes in another order.
    if (random.below(10) === 0) words.splice(random.below(6), 0, ...words.splice(random.below(6), 1));
    const sql = words.filter((word) => word !== '').join(random.pick([' ', '\n', ' /* LIMIT 1 */ ']));
    const table = random.pick(tables);
    const values = Array.from({ length: 9 }, () => random.below(4));
    const expected = outcome(table, values, () => numbered(sql));
    const got = outcome(table, values, (db) => {
      const limited = limitedChange(sql);
      if (limited === null) throw new Error('not one of them');
      const shape = shapeOf(db.prepare(shapeSql).raw().all({ 1: limited.table }) as unknown[][]);
      if (shape === null) throw new Error('no such table');
      return numbered(limited.spellOut(shape));
    });
    // More is refused, with a reason: UPDATE ... FROM, and views.
    if (got === null && / FROM \(SELECT 1\)|\bv\b/.test(sql)) continue;
    assert.deepEqual(got, expected, `${table}\n${sql}`);
    if (expected !== null) accepted++;
  }
  assert.ok(accepted > 20, String(accepted));
});

/** Rows that it returns and what is in the table afterwards; null when it is refused. */
function outcome(table: string, values: readonly number[], sqlOf: (db: Database.Database) => string): unknown {
  const db = new Database(':memory:');
  try {
    db.exec(
      `${table}; INSERT INTO t (id, a, b) VALUES (1, 11, 3), (2, 12, 2), (3, 13, 1), (4, 14, 3), (5, 15, 2); CREATE VIEW v AS SELECT * FROM t`,
    );
    let returned: unknown;
    try {
      const sql = sqlOf(db);
      const statement = db.prepare(sql);
      const bound = /\?/.test(sql)
        ? [Object.fromEntries(values.map((value, index) => [String(index + 1), value]))]
        : [];
      returned = statement.reader ? statement.raw().all(...bound) : statement.run(...bound).changes;
      if (sql.startsWith('EXPLAIN')) returned = 'a plan';
      else if (Array.isArray(returned)) returned = returned.map((row) => JSON.stringify(row)).sort();
    } catch {
      return null;
    }
    return [returned, db.prepare('SELECT id, a, b FROM t ORDER BY b, id').raw().all()];
  } finally {
    db.close();
  }
}

/** The text with `?` as `?NNN`, as better-sqlite3 binds them; it has no other question marks. */
function numbered(sql: string): string {
  let highest = 0;
  return sql.replaceAll(/\?(\d*)/g, (_, given: string) => {
    highest = given === '' ? highest + 1 : Math.max(highest, Number(given));
    return `?${given === '' ? highest : given}`;
  });
}

test('a name among the parameters takes the next number where it comes first', () => {
  const change = limitedChange('DELETE FROM t WHERE a = :x AND b = ? AND c = :x LIMIT ?');
  const text = change!.spellOut(shapeOf([['table', 0, 'id', 1]])!);
  assert.match(text, /a = :x AND b = \?2 AND c = :x .*LIMIT \?3/);
});

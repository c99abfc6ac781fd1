// SQL text cut into statements the way SQLite cuts it.
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { errorOffset, oneStatement, splitStatements } from '#runtime/databases/sqlite/sql-text.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const split = (sql: string): string[] => splitStatements(sql, 100).map((statement) => statement.sql);

test('statements end at semicolons outside of texts, comments and triggers', () => {
  assert.deepEqual(split("SELECT ';'; SELECT \";\" ;SELECT `;`;SELECT [;] -- ;\n; /* ; */ ;; SELECT ''';'"), [
    "SELECT ';'",
    'SELECT ";"',
    'SELECT `;`',
    'SELECT [;]',
    "SELECT ''';'",
  ]);
  const trigger = 'CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT CASE WHEN 1 THEN 2 END; END';
  assert.deepEqual(split(`${trigger}; SELECT 2`), [trigger, 'SELECT 2']);
  assert.deepEqual(split('EXPLAIN CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END; SELECT 2').length, 2);
  assert.deepEqual(split(' \n\t; -- nothing'), []);
});

test('a statement knows its line and its parameters', () => {
  assert.deepEqual(splitStatements("-- a\nSELECT ?, '?';\n\n  SELECT ?3, ?", 10), [
    { sql: "SELECT ?, '?'", line: 2, parameters: 1 },
    { sql: 'SELECT ?3, ?', line: 4, parameters: 4 },
  ]);
});

test('what SQLite would read otherwise is refused', () => {
  assert.throws(() => split('SELECT 1\0; DROP TABLE t'), /NUL/);
  assert.throws(() => split('SELECT $a'), /named parameters such as \$a/);
  assert.throws(() => oneStatement('SELECT 1; SELECT 2'), /must be one statement/);
  assert.throws(() => oneStatement(' -- nothing'), /there is no statement/);
  assert.throws(() => splitStatements('SELECT 1;'.repeat(3), 2), /more than 2 statements/);
});

test('an error is placed only where one token can be meant', () => {
  const never = (): boolean => false;
  assert.equal(errorOffset('SELECT a, b FROM t', 'no such column: b', never), 10);
  assert.equal(errorOffset('SELECT b, b FROM t', 'no such column: b', never), -1);
  assert.equal(errorOffset('SELECT \'b\', "b"', 'no such column: b', never), 12);
  assert.equal(
    errorOffset('SELECT x x x', 'near "x": syntax error', (beginning) => beginning === 'SELECT x x x'),
    11,
  );
});

test('random text is cut where SQLite cuts it', () => {
  const random = createSeededRandom();
  const starts = [
    'SELECT 1',
    "SELECT 'a'",
    'SELECT ?2',
    'SELECT "x" FROM (SELECT 1 AS x)',
    'CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END',
    '',
  ];
  const pieces = [
    ';',
    ' ',
    "'",
    '"',
    '`',
    '[',
    ']',
    '--',
    '\n',
    '/*',
    '*/',
    ' x',
    ',?',
    ',?1',
    ' END',
    '; END',
    ',1e',
    ",x'00'",
    '\u00a0',
    '\ufeff',
    'é',
    ' SELECT 1',
    '-',
    '/',
  ];
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE a (x)');
  let compared = 0;
  try {
    for (let round = 0; round < fuzzRounds(500); round++) {
      const sql = random.pick(starts) + random.text(pieces, 6);
      let first: string | null;
      try {
        first = splitStatements(sql, 1000)[0]?.sql ?? null;
      } catch {
        continue;
      }
      let expected: string | null;
      try {
        expected = db.prepare(sql).sourceSQL;
      } catch (error) {
        if (!/no statements/.test((error as Error).message)) continue;
        expected = null;
      }
      compared++;
      const message = `seed ${random.seed}: ${JSON.stringify(sql)}`;
      if (first === null || expected === null) assert.equal(first, expected, message);
      // SQLite's text has the comments before it and the semicolon behind it.
      else assert.deepEqual(split(expected), [first], message);
    }
  } finally {
    db.close();
  }
  assert.ok(compared > 50, `only ${compared} texts were compared`);
});

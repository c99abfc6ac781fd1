// A script over node:sqlite alone: makes databases to be moved, writes one as `wrangler d1 export` does, and compares
// two row by row. Run by test/control/import-commands.test.ts; knows nothing of the platform but what its tables are
// called.
import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const ROWS = 300_000;
const INDEXED_ROWS = 1_000_000;

/** A value as D1 and the sqlite3 program write it. */
function written(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  return String(value);
}

/** What `wrangler d1 export` writes of a database: tables with their rows, counters, then all else. */
function exportAsD1(db: DatabaseSync, target: string): void {
  const descriptor = openSync(target, 'w');
  let text = 'PRAGMA defer_foreign_keys=TRUE;\n';
  const put = (line: string): void => {
    text += line;
    if (text.length < 1_000_000) return;
    writeSync(descriptor, text);
    text = '';
  };
  const named = (where: string): { name: string; sql: string }[] =>
    db.prepare(`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND ${where} ORDER BY rowid`).all() as never;
  for (const { name, sql } of named(`type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'`)) {
    put(`${sql};\n`);
    const columns = db.prepare(`SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0`).all(name) as {
      name: string;
    }[];
    const names = columns.map((column) => `"${column.name}"`).join(',');
    const rows = db.prepare(`SELECT ${names} FROM "${name}"`);
    rows.setReadBigInts(true);
    for (const row of rows.iterate())
      put(`INSERT INTO "${name}" (${names}) VALUES(${Object.values(row).map(written).join(',')});\n`);
  }
  put('DELETE FROM sqlite_sequence;\n');
  for (const { name, seq } of db.prepare('SELECT * FROM sqlite_sequence').all())
    put(`INSERT INTO "sqlite_sequence" ("name","seq") VALUES('${String(name)}',${String(seq)});\n`);
  for (const { sql } of named(`type <> 'table'`)) put(`${sql};\n`);
  writeSync(descriptor, text);
  closeSync(descriptor);
}

/** Where AUTOINCREMENT goes on. */
function countersOf(db: DatabaseSync): unknown[] {
  const isThere = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'`).get() !== undefined;
  return isThere ? db.prepare('SELECT * FROM sqlite_sequence ORDER BY name').all() : [];
}

/** Schema and rows of both, in the order of the keys. @returns how many rows there are. */
function assertEqual(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => new DatabaseSync(name, { readOnly: true })) as [DatabaseSync, DatabaseSync];
  try {
    const schema = `SELECT type, name, tbl_name, sql FROM sqlite_schema
      WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE 'platform@_internal@_%' ESCAPE '@' AND tbl_name NOT LIKE 'platform@_internal@_%' ESCAPE '@'
      ORDER BY type, name`;
    assert.deepEqual(b.prepare(schema).all(), a.prepare(schema).all());
    let count = 0;
    for (const { name } of a
      .prepare(schema)
      .all()
      .filter(({ type }) => type === 'table')) {
      const keys = a.prepare(`SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk`).all(name as string);
      const order = keys.length === 0 ? 'rowid' : keys.map((key) => `"${String(key['name'])}"`).join(', ');
      const [left, right] = [a, b].map((db) => {
        const rows = db.prepare(`SELECT * FROM "${String(name)}" ORDER BY ${order}`);
        rows.setReadBigInts(true);
        rows.setReturnArrays(true);
        return rows.iterate();
      }) as unknown as [Iterator<unknown>, Iterator<unknown>];
      for (;;) {
        const [mine, its] = [left.next(), right.next()];
        if (mine.done === true || its.done === true) {
          assert.equal(its.done, mine.done, `${String(name)}: one has more rows`);
          break;
        }
        count++;
        const [x, y] = [mine.value, its.value].map((row) => (row as unknown[]).map(written).join());
        if (x !== y) assert.equal(y, x, `${String(name)}, row ${count}`);
      }
    }
    for (const db of [a, b]) {
      if (db === b) assert.deepEqual(countersOf(b), countersOf(a));
      assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
      assert.deepEqual(db.prepare('PRAGMA foreign_key_check').all(), []);
    }
    return count;
  } finally {
    a.close();
    b.close();
  }
}

/** Orders of customers, as a database and as D1 exports it. */
function makeOrders(file: string, text: string): void {
  const source = new DatabaseSync(file);
  source.exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT NOT NULL REFERENCES customers(mail),
      cents INTEGER NOT NULL, euros REAL GENERATED ALWAYS AS (cents / 100.0) VIRTUAL, note TEXT, receipt BLOB) STRICT;
    CREATE TABLE customers (mail TEXT PRIMARY KEY, name TEXT, big INTEGER) WITHOUT ROWID;
    CREATE TABLE log (order_id INTEGER, what TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO customers SELECT 'c' || i || '@example.org', 'O''Hara "' || i || '"' || char(10) || '; -- é', 9007199254740992 + i FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1000})
      INSERT INTO orders (customer, cents, note, receipt) SELECT 'c' || (1 + i % 1000) || '@example.org', i * 7 % 100003,
        iif(i % 3 = 0, NULL, 'note; ''' || i || ''''), unhex(printf('%08x', i)) FROM n;
    DELETE FROM orders WHERE id % 100 = 99;
    INSERT INTO orders (customer, cents) SELECT 'c1@example.org', id FROM orders LIMIT ${Math.floor((ROWS - 1000) / 100)};
    CREATE INDEX by_customer ON orders (customer, cents);
    CREATE UNIQUE INDEX by_note ON orders (note) WHERE note IS NOT NULL;
    CREATE VIEW spent AS SELECT customer, sum(cents) AS cents FROM orders GROUP BY customer;
    CREATE TRIGGER logged AFTER INSERT ON orders BEGIN INSERT INTO log VALUES (new.id, 'made; it'); END;`);
  exportAsD1(source, text);
  source.close();
}

/** Texts with an index that has every second one. */
function makeTexts(file: string): void {
  const source = new DatabaseSync(file);
  source.exec(`CREATE TABLE texts (id INTEGER PRIMARY KEY, body TEXT NOT NULL, bytes INT AS (length(body)) STORED) STRICT;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${INDEXED_ROWS})
      INSERT INTO texts (id, body) SELECT i * 3, 'word' || (i % 1000) || ' other' || (i % 77) FROM n;
    CREATE VIRTUAL TABLE found USING fts5(body, content='texts', content_rowid='id');
    INSERT INTO found (rowid, body) SELECT id, body FROM texts WHERE id % 2 = 0;
    CREATE TRIGGER kept AFTER INSERT ON texts BEGIN INSERT INTO found (rowid, body) VALUES (new.id, new.body); END;
    CREATE VIEW long AS SELECT id FROM texts WHERE bytes > 13;`);
  source.close();
}

function ask(file: string, sql: string): unknown {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return Object.values(db.prepare(sql).get() ?? {})[0];
  } finally {
    db.close();
  }
}

const [what, first = '', second = ''] = process.argv.slice(2);
if (what === 'make-orders') makeOrders(first, second);
else if (what === 'make-texts') makeTexts(first);
else if (what === 'compare') process.stdout.write(JSON.stringify({ rows: assertEqual(first, second) }));
else if (what === 'ask') process.stdout.write(JSON.stringify({ value: ask(first, second) }));
else throw new Error('usage: make-orders FILE TEXT | make-texts FILE | compare FILE FILE | ask FILE SQL');

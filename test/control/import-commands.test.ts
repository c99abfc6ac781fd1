// Databases are moved in by the command line, over a supervisor with engines that are processes: dumps and SQLite files
// of any size, and a round trip of 300,000 rows that is compared row by row.
import '#test/setup/over-processes.ts';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startUser, type TestUser } from '#test/setup/user.ts';

let user: TestUser;
before(async () => {
  user = await startUser({
    'platform.yaml': 'name: shop\ndb: { DB: notes, BIG: big }\n',
    'migrations/DB/0001_notes.sql':
      "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\nINSERT INTO notes (text) VALUES ('bread');\n",
    'src/index.ts': 'export default { fetch: () => new Response("shop") };\n',
  });
});
after(() => user.close());

const file: TestUser['file'] = (...given) => user.file(...given);
const call: TestUser['call'] = (...given) => user.call(...given);
const ok: TestUser['ok'] = (...words) => user.ok(...words);

test('an export is imported again, and a file takes the place of a database only when that is said', async () => {
  await ok('db', 'export', 'whole.sqlite', '--database', 'DB');
  const refused = await call(['db', 'import', 'whole.sqlite', '-d', 'DB', '--yes']);
  assert.deepEqual(
    [refused.code, refused.errors[0]],
    [
      1,
      'error Nothing was imported: the database is not empty: importing a SQLite file replaces all of it (SQLITE_MISUSE)\nPass --replace to replace the existing data. Back up the database first with `platform db export`.',
    ],
  );
  await ok('db', 'query', 'DELETE FROM notes', '-d', 'DB');
  assert.match(
    (await ok('db', 'import', 'whole.sqlite', '-d', 'DB', '--replace', '--yes'))[0]!,
    /^Imported whole\.sqlite into DB in \d+ ms$/,
  );
  assert.deepEqual(await ok('db', 'query', 'SELECT text FROM notes ORDER BY id', '-d', 'DB'), ['bread']);
  assert.deepEqual(await ok('db', 'migrate', 'DB'), ['DB has no pending migrations']);
  const rows = Array.from({ length: 2500 }, (_, n) => `INSERT INTO notes (text) VALUES ('${'x'.repeat(5000)} ${n}');`);
  file('large.sql', `PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n${rows.join('\n')}\nCOMMIT;\n`);
  assert.match(
    (await ok('db', 'import', 'large.sql', '-d', 'DB', '--yes'))[0]!,
    /^Ran 2500 statements on DB in \d+ ms$/,
  );
  file('wrong.sql', "INSERT INTO notes (text) VALUES ('lost');\nINSERT INTO nobody VALUES (1);\n");
  assert.equal(
    (await call(['db', 'import', 'wrong.sql', '-d', 'DB', '--yes'])).errors[0],
    'error Nothing was imported: no such table: nobody (SQLITE_ERROR, line 2: INSERT INTO nobody VALUES (1))',
  );
  assert.deepEqual(
    await ok('db', 'query', "SELECT count(*), count(*) FILTER (WHERE text = 'lost') FROM notes", '-d', 'DB'),
    ['2501\t0'],
  );
  file('open.sqlite', 'SQLite format 3\0');
  file('open.sqlite-wal', 'what was written last');
  const isOpen = await call(['db', 'import', 'open.sqlite', '-d', 'DB', '--yes']);
  assert.deepEqual(
    [isOpen.code, isOpen.errors[0]],
    [
      2,
      'error open.sqlite is incomplete: open.sqlite-wal contains newer changes\nClose the program that uses it, or make a copy: sqlite3 open.sqlite ".backup copy.sqlite"',
    ],
  );
  assert.deepEqual(readdirSync(path.join(user.all.platform.folder, 'exports', 'imports')), []);
});

/** Runs the script of node:sqlite alone, which knows nothing of the platform. @returns what it prints. */
async function moved(...words: string[]): Promise<unknown> {
  const script = path.join(import.meta.dirname, '../setup/moved-databases.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...words], { cwd: user.folder });
  return stdout === '' ? null : JSON.parse(stdout);
}

const onBig = ['--database', 'BIG', '--yes'];

test('a D1 export of 300,000 rows is imported, exported and imported again, and is the same each time', async () => {
  await moved('make-orders', 'd1.sqlite', 'd1.sql');
  assert.match((await ok('db', 'import', 'd1.sql', ...onBig))[0]!, /^Ran 300009 statements on BIG in \d+ ms$/);
  await ok('db', 'export', 'once.sqlite', '--database', 'BIG');
  assert.deepEqual(await moved('compare', 'd1.sqlite', 'once.sqlite'), { rows: 300_000 });
  const again = await call(['db', 'import', 'd1.sql', ...onBig]);
  assert.match(
    again.errors[0]!,
    /^error Nothing was imported: table orders already exists .*line 2: CREATE TABLE orders/,
  );
  await ok('db', 'import', 'once.sqlite', '--replace', ...onBig);
  await ok('db', 'export', 'twice.sqlite', '--database', 'BIG');
  assert.deepEqual(await moved('compare', 'd1.sqlite', 'twice.sqlite'), { rows: 300_000 });
});

test('a database of a million rows with a full-text index is the same after it was moved', async () => {
  await moved('make-texts', 'million.sqlite');
  await ok('db', 'import', 'million.sqlite', '--replace', ...onBig);
  await ok('db', 'export', 'moved.sqlite', '--database', 'BIG');
  assert.ok(((await moved('compare', 'million.sqlite', 'moved.sqlite')) as { rows: number }).rows > 1_000_000);
  const sql = "SELECT count(*) FROM found WHERE found MATCH 'word7 AND other7'";
  const { value } = (await moved('ask', 'million.sqlite', sql)) as { value: number };
  assert.deepEqual(await ok('db', 'query', sql, '--database', 'BIG'), [String(value)]);
});

// What commands read and write of a deployment's bindings over the API: databases, state, files, queues, with real
// stores.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startUser, type TestUser } from '#test/setup/user.ts';

let user: TestUser;
before(async () => {
  user = await startUser({
    'platform.yaml':
      'name: shop\ndb: { DB: notes }\nstate: { KV: settings }\nfs: { FILES: uploads }\nqueue: { MAIL: mail }\nsandbox: { BOX: boxes }\ncron: { NIGHTLY: "0 3 * * *" }\n',
    'migrations/0001_notes.sql':
      "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\nINSERT INTO notes (text) VALUES ('bread');\n",
    'src/index.ts': 'export default { fetch: async (request, env) => new Response(await env.KV.get("greeting")) };\n',
  });
});
after(() => user.close());

const file: TestUser['file'] = (...given) => user.file(...given);
const call: TestUser['call'] = (...given) => user.call(...given);
const ok: TestUser['ok'] = (...words) => user.ok(...words);

test('a database is listed, asked, imported into, counted and copied', async () => {
  assert.deepEqual(await ok('db'), ['DB\tnotes']);
  assert.deepEqual(await ok('db', 'tables'), ['notes\ttable']);
  assert.match((await ok('db', 'tables', '--schema')).join('\n'), /^CREATE TABLE notes \(id INTEGER PRIMARY KEY/);
  assert.deepEqual(await ok('db', 'query', 'SELECT * FROM notes'), ['1\tbread']);
  assert.deepEqual(await ok('db', 'query', 'SELECT 9e999, -9e999, 9007199254740993'), [
    'Infinity\t-Infinity\t9007199254740993',
  ]);
  await ok('db', 'query', 'INSERT INTO notes (text) VALUES (?)', '--param', '["milk"]');
  const asked = JSON.parse((await ok('db', 'query', 'SELECT text FROM notes ORDER BY id', '--json'))[0]!) as {
    rows: unknown;
  };
  assert.deepEqual(asked.rows, [{ text: 'bread' }, { text: 'milk' }]);
  const wrong = await call(['db', 'query', 'SELECT * FROM missing']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.errors[0]!, /no such table: missing/);
  file(
    'more.sql',
    "BEGIN TRANSACTION;\nINSERT INTO notes (text) VALUES ('salt');\nINSERT INTO notes (text) VALUES ('tea');\nCOMMIT;\n",
  );
  assert.equal((await call(['db', 'import', 'more.sql'])).code, 2);
  assert.match((await ok('db', 'import', 'more.sql', '--yes'))[0]!, /^Ran 2 statements on DB in \d+ ms$/);
  assert.match((await ok('db', 'insights'))[0]!, /^notes\t4\t/);
  assert.match((await ok('db', 'export', 'copy.sqlite'))[0]!, /^Wrote copy\.sqlite: /);
  const copy = new DatabaseSync(path.join(user.folder, 'copy.sqlite'), { readOnly: true });
  assert.equal((copy.prepare('SELECT count(*) AS n FROM notes').get() as { n: number }).n, 4);
  copy.close();
  assert.match((await ok('db', 'migrate', '--list'))[0]!, /^applied {2}0001_notes\.sql$/);
  assert.deepEqual(await ok('db', 'migrate'), ['DB has no pending migrations']);
  const unknown = await call(['db', 'tables', 'BD']);
  assert.deepEqual(
    [unknown.code, unknown.errors[0]],
    [2, 'error shop has no database "BD". Did you mean DB?\nChoose one of DB.'],
  );
});

test('state is written, read by the worker, listed and deleted', async () => {
  assert.deepEqual(await ok('state', 'put', 'greeting', 'hello'), ['Wrote greeting of KV: 5 bytes']);
  assert.equal((await user.all.platform.fetch('shop')).text, 'hello');
  const read = await call(['state', 'get', 'greeting']);
  assert.equal(Buffer.concat(read.written).toString(), 'hello\n');
  await ok('state', 'put', 'a/key with blanks & signs', '1', '--ttl', '3600');
  assert.deepEqual(
    (await ok('state', 'list')).map((line) => line.split('\t')[0]),
    ['a/key with blanks & signs', 'greeting'],
  );
  assert.equal((await call(['state', 'delete', 'greeting'])).code, 2);
  assert.deepEqual(await ok('state', 'rm', 'greeting', '-y'), ['Deleted greeting']);
  const gone = await call(['state', 'get', 'greeting']);
  assert.deepEqual(
    [gone.code, gone.errors[0]],
    [1, 'error KV has no entry greeting\n`platform state list` lists the keys.'],
  );
});

test('files go there and back as they are, of any size', async () => {
  const bytes = Buffer.alloc(9_000_001, 'abcdefg');
  writeFileSync(path.join(user.folder, 'large.bin'), bytes);
  await ok('fs', 'put', 'folder/large.bin', 'large.bin', '--type', 'image/png');
  await ok('fs', 'put', 'empty', 'platform.yaml');
  assert.deepEqual(
    (await ok('fs', 'ls')).map((line) => line.split('\t').slice(0, 2)),
    [
      ['folder/', '-'],
      ['empty', '153 B'],
    ],
  );
  await ok('fs', 'cat', 'folder/large.bin', '-o', 'back.bin');
  assert.ok(bytes.equals(readFileSync(path.join(user.folder, 'back.bin'))));
  const shown = await call(['fs', 'cat', 'empty']);
  assert.equal(Buffer.concat(shown.written).toString(), readFileSync(path.join(user.folder, 'platform.yaml'), 'utf8'));
  await ok('fs', 'rm', 'folder/large.bin', '--yes');
  assert.match(
    (await call(['fs', 'cat', 'folder/large.bin'])).errors[0]!,
    /^error FILES has no file folder\/large\.bin/,
  );
});

test('schedules are listed, and run once more when they are asked to', async () => {
  const [listed] = await ok('cron');
  assert.match(listed!, /^NIGHTLY\t0 3 \* \* \*\tUTC\t\d{4}-\d\d-\d\dT03:00:00\.000Z\t-\t-$/);
  assert.deepEqual(await ok('cron', 'run', 'NIGHTLY'), ['Started NIGHTLY; see `platform logs` for its output']);
  const { code, errors } = await call(['cron', 'run', 'HOURLY']);
  assert.deepEqual([code, errors[0]], [2, 'error shop has no schedule "HOURLY"\nSchedules: NIGHTLY.']);
});

test('queues say how they stand, and dead letters go back', async () => {
  assert.deepEqual(await ok('queue'), ['MAIL\t0\t0\t0\t-']);
  assert.deepEqual(await ok('queue', 'dead'), []);
  assert.deepEqual(await ok('queue', 'redrive', '--yes'), ['Redriven 0 dead letters of MAIL']);
});

test('a viewer reads nothing of it, and a stranger learns not even that it is there', async () => {
  const viewer = await user.all.control.account('vic', { [user.all.control.organizationId]: 'viewer' });
  assert.match((await call(['db', 'tables'], {}, viewer.token)).errors[0]!, /data:read \(forbidden/);
  const stranger = await user.all.control.account('eve', { [await user.all.control.organization('other')]: 'owner' });
  assert.equal((await call(['db', 'tables'], {}, stranger.token)).code, 1);
  const read = await user.all.control.account('rob', { [user.all.control.organizationId]: 'member' }, 'read');
  assert.equal((await call(['db', 'tables'], {}, read.token)).code, 0);
  assert.match((await call(['db', 'query', 'DELETE FROM notes'], {}, read.token)).errors[0]!, /data:write \(forbidden/);
});

// Whole database files: damaged ones, backups, restored ones, branches.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ops } from '#runtime/databases/protocol/frames.ts';
import { ask, at, query, shareDatabases, startFor } from '#test/setup/databases.ts';

const databases = shareDatabases();

test('a damaged file is set aside, answers clearly, and can be restored', async () => {
  const { client, directory, folder, service, reports, at, place, ask, query } = databases.of('damaged');
  const backup = join(directory, 'backup.sqlite');
  await ask(ops.exec, ["CREATE TABLE t (a); INSERT INTO t VALUES ('kept'); CREATE TABLE u (b)"]);
  await client.backup(at, backup);
  const { path: file } = await client.describe(at);
  for (const pid of service.pids()) process.kill(pid, 'SIGKILL');
  // The log would repair what it covers.
  rmSync(`${file}-wal`);
  writeFileSync(file, 'this is no database at all, '.repeat(1000));
  const damaged = {
    code: 'database_corrupt',
    message: 'Database main is damaged and was set aside: file is not a database',
  };
  await assert.rejects(query('SELECT a FROM t'), damaged);
  await assert.rejects(query('SELECT a FROM t'), damaged);
  assert.equal(existsSync(file), false);
  const aside = readdirSync(folder).filter((name) => name.startsWith('main.sqlite.corrupt-') && name.endsWith('Z'));
  assert.match(await readFile(join(folder, aside[0] as string), 'utf8'), /^this is no database at all/);
  assert.match(
    reports.at(-1) as string,
    /main\.sqlite is corrupt \(file is not a database\); it is now .*Restore a backup, or delete/,
  );
  assert.deepEqual(await query('SELECT 1', [], place('neighbour')), [[1]]);
  await client.restore(at, backup);
  assert.deepEqual(await query('SELECT a FROM t'), [['kept']]);
});

test('damage that shows only while a statement runs is noticed too', async () => {
  const { client, directory, folder, reports, at, place, ask, query } = databases.of('late-damage');
  await ask(ops.exec, ['CREATE TABLE t (a)']);
  const fill =
    'INSERT INTO t WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) SELECT randomblob(500) FROM c';
  await query(fill);
  const backup = join(directory, 'b.sqlite');
  await client.backup(at, backup);
  const bytes = await readFile(backup);
  bytes.fill(0x5a, 8192, 40_960);
  const damaged = join(folder, 'broken.sqlite');
  writeFileSync(damaged, bytes);
  await assert.rejects(query('SELECT sum(length(a)) FROM t', [], place('broken')), {
    code: 'database_corrupt',
  });
  assert.match(reports.at(-1) as string, /broken\.sqlite is corrupt/);
});

test('a backup of a damaged file, or of none, replaces nothing', async () => {
  const { client, directory, at, query } = databases.of('bad-backup');
  await query('CREATE TABLE t (a)');
  const bad = join(directory, 'bad.sqlite');
  writeFileSync(bad, 'nonsense'.repeat(1000));
  await assert.rejects(client.restore(at, bad), {
    code: 'SQLITE_NOTADB',
    message: 'the backup is damaged: file is not a database',
  });
  await assert.rejects(client.restore(at, join(directory, 'none')), {
    code: 'SQLITE_CANTOPEN',
    message: 'there is no such backup',
  });
  assert.deepEqual(await query('SELECT count(*) FROM t'), [[0]]);
});

test('a backup is one moment of the database, while others write', async () => {
  const { client, directory, at, place, ask, query } = databases.of('one-moment');
  await ask(ops.exec, ['CREATE TABLE t (a); CREATE TABLE u (a)']);
  let writing = true;
  const writes = (async () => {
    for (let value = 0; writing; value++)
      await ask(ops.batch, [
        ['INSERT INTO t VALUES (?)', [value]],
        ['INSERT INTO u VALUES (?)', [value]],
      ]);
  })();
  await query('SELECT 1');
  const backup = join(directory, 'copy.sqlite');
  await client.backup(at, backup);
  writing = false;
  await writes;
  const copy = place('copy');
  await client.restore(copy, backup);
  const [[t1, u1]] = (await query('SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)', [], copy)) as [
    [number, number],
  ];
  assert.equal(t1, u1);
});

test('a branch has the content of its database, and goes its own way', async () => {
  const { client, at, place, ask, query } = databases.of('branch');
  await ask(ops.exec, ["CREATE TABLE t (a); INSERT INTO t VALUES ('both')"]);
  await client.branch(at, 'preview');
  const branch = place('preview');
  await query("INSERT INTO t VALUES ('branch')", [], branch);
  await query("INSERT INTO t VALUES ('main')");
  assert.deepEqual(await query('SELECT a FROM t', [], branch), [['both'], ['branch']]);
  assert.deepEqual(await query('SELECT a FROM t'), [['both'], ['main']]);
  await assert.rejects(client.branch(at, 'preview'), { message: 'there is a database of that name already' });
  assert.equal((await client.branch(at, 'preview', { unlessThere: true })).made, false);
  assert.deepEqual(await query('SELECT a FROM t', [], branch), [['both'], ['branch']]);
  await client.remove(branch);
  assert.deepEqual(await query('SELECT name FROM sqlite_schema', [], branch), []);
});

test('engines that ask for one branch at a time get one, whole', async () => {
  const { client, folder, at, place, ask, query } = databases.of('one-at-a-time');
  const fill =
    'INSERT INTO t WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) SELECT randomblob(500) FROM c';
  await ask(ops.exec, [`CREATE TABLE t (a); ${fill}`]);
  const made = await Promise.all([1, 2, 3].map(() => client.branch(at, 'preview~x', { unlessThere: true })));
  // On a busy machine the last may ask when the branch is there already.
  assert.equal(made[0]!.made, true);
  const branch = place('preview~x');
  assert.deepEqual(await query('SELECT count(*) FROM t', [], branch), [[20_000]]);
  assert.deepEqual(await query('PRAGMA quick_check', [], branch), [['ok']]);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.branch') || name.endsWith('.unfinished')),
    [],
  );
});

test('messages on their way to a queue stay with the database that they were sent from', async () => {
  const { client, at, place, ask } = databases.of('messages');
  const { t: transaction } = (await ask(ops.begin, [])) as { t: number };
  await ask(ops.enqueue, ['message-1', '{}'], at, transaction);
  await ask(ops.commit, [], at, transaction);
  await client.branch(at, 'preview');
  assert.deepEqual(await ask(ops.pending, []), { rows: [['message-1', '{}']] });
  assert.deepEqual(await ask(ops.pending, [], place('preview')), { rows: [] });
});

test('whoever looks for messages in a database that is not there makes none, and a copy may still come', async () => {
  const { client, folder, at, place, ask, query } = databases.of('looked-for');
  await query('CREATE TABLE t (a)');
  const preview = place('main~~login');
  for (const op of [ops.pending, ops.pending]) assert.deepEqual(await ask(op, [], preview), { rows: [] });
  assert.equal(existsSync(join(folder, 'main~~login.sqlite')), false);
  assert.equal((await client.branch(at, preview.resource, { unlessThere: true })).made, true);
});

test('a damaged database that is removed makes room for an empty one', async () => {
  const { client, folder, at, ask, query } = databases.of('removed');
  const file = join(folder, 'main.sqlite');
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, 'no database at all '.repeat(1000));
  await assert.rejects(query('SELECT 1'), { code: 'database_corrupt' });
  await assert.rejects(ask(ops.pending, []), { code: 'database_corrupt' });
  await client.remove(at);
  assert.deepEqual(await query('SELECT count(*) FROM sqlite_schema'), [[0]]);
});

test('a database that is too large to be copied is not, and leaves nothing', async (t) => {
  const { client, directory } = await startFor(t, { branchBytesMax: 8192 });
  await ask(client, ops.exec, ['CREATE TABLE t (a)']);
  await query(client, 'INSERT INTO t VALUES (randomblob(20000))');
  await assert.rejects(client.branch(at, 'preview'), {
    code: 'SQLITE_TOOBIG',
    message: /exceeds DB_MAX_BRANCH_BYTES \(8192\)/,
  });
  assert.deepEqual(
    readdirSync(join(directory, 'shop')).filter((name) => name.startsWith('preview')),
    [],
  );
});

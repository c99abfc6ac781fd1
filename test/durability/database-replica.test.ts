// A database is replicated to a bucket while it is written, and restored to moments: each has what was written before
// it, and nothing else.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgres } from '#postgres/connection.ts';
import { at, query, type TestDatabases } from '#test/setup/databases.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { replicated, rowsAt, startProxy, startReplicated } from '#test/setup/replicas.ts';
import { startS3Server, type S3Server } from '#test/setup/s3-server.ts';
import { until } from '#test/setup/until.ts';

/** How often everything is killed. */
const ROUNDS = Math.max(2, Math.round(Number(process.env['DURABILITY_ROUNDS'] ?? 20) / 5));

/** What is written between a mark and the writes around it: nothing. */
const QUIET_MS = 2000;

let s3: S3Server;
let postgres: Awaited<ReturnType<typeof createTestDatabase>>;
before(async () => {
  [s3, postgres] = await Promise.all([startS3Server(), createTestDatabase()]);
});
after(async () => {
  await s3.close();
  await postgres.close();
});

test('a restore to each of three marks has what was written before it, and nothing of what came after', async (t) => {
  const databases = await startReplicated(s3, postgres.url, 'marks', { intervalMs: 500 });
  t.after(() => databases.close());
  const { client } = databases;
  await query(client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)');
  const marks: { time: number; rows: unknown }[] = [];
  for (let mark = 1; mark <= 3; mark++) {
    for (let count = 0; count < 300; count++)
      await query(client, 'INSERT INTO entry (text) VALUES (?)', [`${mark} `.repeat(200)]);
    await query(client, 'DELETE FROM entry WHERE id % 7 = ?', [mark]);
    await sleep(QUIET_MS);
    marks.push({ time: Date.now(), rows: await query(client, 'SELECT count(*), sum(id), max(text) FROM entry') });
    await sleep(QUIET_MS);
  }
  await query(client, 'DROP TABLE entry');
  await replicated(databases);
  for (const [index, { time, rows }] of marks.entries())
    assert.deepEqual(
      await rowsAt(databases, time, `main~at~mark-${index}`, 'SELECT count(*), sum(id), max(text) FROM entry'),
      rows,
    );
  assert.deepEqual(databases.reports, []);
});

/** A number for all that a database has. */
const WHOLE = `SELECT count(*), coalesce(sum(id), 0), coalesce(sum(length(text)), 0), coalesce(sum(unicode(substr(text, 9))), 0) FROM entry`;

/** Writes rows of many sizes until it is stopped; deletes and grows again. */
async function writeOn(client: TestDatabases['client'], state: { isOver: boolean; written: number }): Promise<void> {
  for (let round = 0; !state.isOver; round++) {
    const sql = 'INSERT INTO entry (text) SELECT hex(randomblob(1500)) FROM generate(40)'.replace(
      'generate(40)',
      '(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i FROM n)',
    );
    const answer = await query(client, sql);
    assert.equal(String(answer), '');
    if (round % 5 === 4)
      await query(client, 'DELETE FROM entry WHERE id % 3 = 0 AND id < (SELECT max(id) - 100 FROM entry)');
    state.written++;
  }
}

test('a log that grows is begun again while it is read, and nothing of it is missing', async (t) => {
  const databases = await startReplicated(s3, postgres.url, 'long', { intervalMs: 50 });
  t.after(() => databases.close());
  const { client, directory } = databases;
  await query(client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)');
  const state = { isOver: false, written: 0 };
  const writing = writeOn(client, state);
  const marks: { time: number; rows: unknown }[] = [];
  let logBytes = 0;
  for (const count of [200, 400, 600]) {
    await until(() => state.written >= count);
    logBytes = Math.max(logBytes, statSync(join(directory, 'shop/main.sqlite-wal')).size);
  }
  state.isOver = true;
  await writing;
  await replicated(databases);
  marks.push({ time: Date.now(), rows: await query(client, WHOLE) });
  assert.deepEqual(await rowsAt(databases, marks[0]!.time, 'main~at~end', WHOLE), marks[0]!.rows);
  assert.ok(logBytes < 192 * 1024 * 1024, `the log had ${logBytes} bytes`);
  assert.deepEqual(databases.reports, []);
});

test('a service and a replicator that are killed in the middle leave a replica that has all up to the next write', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'platform-test-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  let last: unknown;
  for (let round = 0; round < ROUNDS; round++) {
    const databases = await startReplicated(s3, postgres.url, 'kills', { intervalMs: 20, directory, keeps: true });
    const { client } = databases;
    if (round === 0) await query(client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)');
    else assert.deepEqual(await query(client, WHOLE), last);
    const state = { isOver: false, written: 0 };
    const writing = writeOn(client, state).catch(() => {});
    await until(() => state.written > 30);
    for (const pid of databases.service.replicatorPids()) process.kill(pid, 'SIGKILL');
    await until(() => state.written > 60);
    state.isOver = true;
    await writing;
    await query(client, 'INSERT INTO entry (text) VALUES (?)', ['0123456789']);
    last = await query(client, WHOLE);
    await replicated(databases);
    assert.deepEqual(await rowsAt(databases, Date.now(), `main~at~round-${round}`, WHOLE), last);
    await databases.close();
  }
});

test('an empty disk gets its databases from their replicas, without those that were deleted', async (t) => {
  const first = await startReplicated(s3, postgres.url, 'lost');
  for (const resource of ['main', 'second', 'gone']) {
    await query(first.client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)', [], { ...at, resource });
    await query(first.client, 'INSERT INTO entry (text) VALUES (?)', [resource], { ...at, resource });
  }
  await replicated(first, { ...at, resource: 'gone' });
  const was = Date.now();
  await first.client.remove({ ...at, resource: 'gone' });
  // What is not stored yet is when it stops.
  await first.close();
  const second = await startReplicated(s3, postgres.url, 'lost');
  t.after(() => second.close());
  assert.deepEqual(second.reports, ['restored 2 databases from their replicas']);
  assert.deepEqual(await query(second.client, 'SELECT text FROM entry'), [['main']]);
  const there = (await second.client.list('shop')).map(({ resource }) => resource);
  assert.deepEqual(there, ['main', 'second']);
  const gone = { ...at, resource: 'gone' };
  await assert.rejects(second.client.restoreAt(gone, Date.now(), 'gone~at~now'), /did not exist at/);
  await second.client.restoreAt(gone, was, 'gone~at~then');
  assert.deepEqual(await query(second.client, 'SELECT text FROM entry', [], { ...at, resource: 'gone~at~then' }), [
    ['gone'],
  ]);
});

test('writes go on while the bucket is away; its log is bounded, and the replica catches up', async (t) => {
  const proxy = await startProxy(s3.endpoint);
  t.after(() => proxy.close());
  const databases = await startReplicated(s3, postgres.url, 'away', { intervalMs: 20, endpoint: proxy.endpoint });
  t.after(() => databases.close());
  const { client, service, directory } = databases;
  await query(client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)');
  await replicated(databases);
  for (const how of ['down', 'denied', 'slow'] as const) {
    proxy.behave(how);
    const state = { isOver: false, written: 0 };
    const writing = writeOn(client, state);
    await until(() => state.written > 700);
    state.isOver = true;
    await writing;
    const figures = service.replica()!;
    if (how !== 'slow') {
      assert.notEqual(figures.problem, null);
      assert.ok(figures.lagMs > 0);
      assert.ok(
        databases.reports.some((line) => line.startsWith('shop/main is not replicated: ')),
        String(databases.reports),
      );
    }
    // The log begins again once it is too long for its replica.
    await query(client, "INSERT INTO entry (text) SELECT 'end'");
    assert.ok(statSync(join(directory, 'shop/main.sqlite-wal')).size < 128 * 1024 * 1024);
    proxy.behave('well');
    await replicated(databases);
    await until(() => service.replica()!.problem === null && service.replica()!.waiting === 0);
    assert.deepEqual(await rowsAt(databases, Date.now(), `main~at~${how}`, WHOLE), await query(client, WHOLE));
  }
});

test('an older home stops when a newer one has a number, and a prefix of another installation is not touched', async (t) => {
  const first = await startReplicated(s3, postgres.url, 'homes');
  t.after(() => first.close());
  await query(first.client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)');
  await replicated(first);
  // A copy of its disk, started elsewhere.
  const directory = await mkdtemp(join(tmpdir(), 'platform-test-'));
  await cp(first.directory, directory, { recursive: true });
  const second = await startReplicated(s3, postgres.url, 'homes', { directory });
  t.after(() => second.close());
  await query(second.client, 'INSERT INTO entry (text) VALUES (?)', ['second']);
  await replicated(second);
  // The older one does not know yet, and writes.
  await query(first.client, 'INSERT INTO entry (text) VALUES (?)', ['first']);
  await until(() => first.reports.some((line) => line.startsWith('replication stopped: another database service')));
  assert.deepEqual(await rowsAt(second, Date.now(), 'main~at~now', 'SELECT text FROM entry'), [['second']]);

  const other = await createTestDatabase();
  t.after(() => other.close());
  // Databases of tests are copies of one.
  const sql = openPostgres({ url: other.url, name: 'test', connectionsMax: 1, schema: 'binding' });
  await sql.all('UPDATE replica SET installation = gen_random_uuid()');
  await sql.close();
  const stranger = await startReplicated(s3, other.url, 'homes', {
    directory: await mkdtemp(join(tmpdir(), 'platform-test-')),
  });
  t.after(() => stranger.close());
  await until(() => stranger.reports.some((line) => line.includes('replicas of another installation')));
});

test('a restore in place keeps each acknowledged write in the restored database or in the copy of the replaced one', async (t) => {
  const databases = await startReplicated(s3, postgres.url, 'in-place');
  t.after(() => databases.close());
  const { client } = databases;
  await query(client, 'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT)');
  await replicated(databases);
  const acknowledged: number[] = [];
  const state = { isOver: false };
  const writing = Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let id = writer; !state.isOver; id += 8) {
        const answer = await query(client, 'INSERT INTO entry (id) VALUES (?)', [id]);
        // A refusal is its code and its message.
        if (String(answer) === '') acknowledged.push(id);
        else assert.match(String(answer), /^SQLITE_ABORT,the database was closed or replaced: try again$/);
      }
    }),
  );
  for (let round = 0; round < 5; round++) {
    const count = acknowledged.length;
    await until(() => acknowledged.length > count + 200);
    await client.restoreAt(at, Date.now(), `main~at~point-${round}`);
    await client.restoreFrom(at, `main~at~point-${round}`, `main~at~before-${round}`);
  }
  state.isOver = true;
  await writing;
  const found = new Set<number>();
  for (const resource of ['main', ...[0, 1, 2, 3, 4].map((round) => `main~at~before-${round}`)])
    for (const [id] of (await query(client, 'SELECT id FROM entry', [], { ...at, resource })) as number[][])
      found.add(id!);
  assert.deepEqual(
    acknowledged.filter((id) => !found.has(id)),
    [],
  );
});

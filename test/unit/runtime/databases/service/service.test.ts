// The database service as a whole: what becomes of requests when a process ends, of damaged files, of copies, of
// strangers.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ops, requestFrame } from '#runtime/databases/protocol/frames.ts';
import { createDatabaseClient } from '#runtime/stores/database-service.ts';
import { ask, at, query, shareDatabases, startFor } from '#test/setup/databases.ts';
import { createSeededRandom, fuzzRounds } from '#test/setup/seeded-random.ts';

const neighbour = { namespace: 'shop', resource: 'neighbour' };
const token = 'a secret of the operator';
const databases = shareDatabases();
/** Ends statements soon. */
const impatient = shareDatabases(
  { sharedStatementMs: 150, statementMs: 500 },
  { tcp: { host: '127.0.0.1', port: 0, token } },
);
const endless = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';

test('a statement that overruns begins again in a process of its own, and is ended there', async () => {
  const { service, reports, place, query } = impatient.of('overruns');
  await query('CREATE TABLE t (a)');
  const before = service.pids();
  const spin = query(endless);
  const others = Promise.all([
    query("INSERT INTO t VALUES ('x')", [], place('neighbour')),
    query('SELECT 1', [], place('neighbour')),
  ]);
  assert.deepEqual(await others, [['SQLITE_ERROR', 'no such table: t'], [[1]]]);
  assert.deepEqual(await spin, ['SQLITE_INTERRUPT', 'the statement ran longer than 500 ms and was ended']);
  assert.deepEqual(await query('SELECT count(*) FROM t'), [[0]]);
  assert.deepEqual(reports, [
    'shard 0 killed: statement of overruns/main ran longer than 150 ms',
    'shard 1 killed: statement of overruns/main ran longer than 500 ms',
  ]);
  assert.equal(
    service.pids().some((pid) => before.includes(pid)),
    false,
  );
});

test('a script whose process is ended continues with the statement that ran', async (t) => {
  const { client, reports } = await startFor(t, { sharedStatementMs: 200, statementMs: 30_000 });
  // As many rows as this machine does not count within 200 ms.
  let rows = 250_000;
  while (reports.length === 0) {
    rows *= 2;
    await query(client, 'DROP TABLE IF EXISTS t');
    const insert = `INSERT INTO t WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ${rows}) SELECT count(*) FROM c`;
    const { n } = await ask(client, ops.exec, [`CREATE TABLE t (a);${`${insert};`.repeat(4)}`]);
    assert.equal(n, 5);
    assert.deepEqual(await query(client, 'SELECT count(*), min(a), max(a) FROM t'), [[4, rows, rows]]);
  }
});

test('a slow statement that fits its own bound succeeds, and its neighbours keep their process', async (t) => {
  const { client, service, reports } = await startFor(t, { sharedStatementMs: 200, statementMs: 30_000 });
  await query(client, 'CREATE TABLE t (a)');
  // As many rows as this machine does not count within 200 ms.
  let rows = 1_000_000;
  let slow = '';
  while (reports.length === 0) {
    rows *= 2;
    slow = `INSERT INTO t WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ${rows}) SELECT count(*) FROM c`;
    assert.deepEqual(await query(client, slow), []);
  }
  assert.deepEqual(reports, ['shard 0 killed: statement of shop/main ran longer than 200 ms']);
  assert.deepEqual(await query(client, 'SELECT max(a) FROM t'), [[rows]]);
  // Processes start when they are needed.
  assert.deepEqual(await query(client, 'SELECT 1', [], neighbour), [[1]]);
  const shared = service.pids()[0];
  assert.deepEqual(await Promise.all([query(client, slow), query(client, 'SELECT 1', [], neighbour)]), [[], [[1]]]);
  assert.equal(service.pids()[0], shared);
});

test('a write that overruns is undone before it begins again', async () => {
  const { ask, query } = impatient.of('undone');
  await query('CREATE TABLE t (a)');
  const result = await ask(ops.batch, [
    ["INSERT INTO t VALUES ('x')", []],
    [endless, []],
  ]);
  assert.deepEqual(result['e'], ['SQLITE_INTERRUPT', 'the statement ran longer than 500 ms and was ended']);
  assert.deepEqual(await query('SELECT count(*) FROM t'), [[0]]);
});

test('a statement that takes too much memory is ended', async (t) => {
  const { client } = await startFor(t, { statementMemoryMb: 32, sharedStatementMs: 20_000 });
  const hungry =
    'SELECT count(DISTINCT a) FROM (WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT randomblob(100000) AS a FROM c)';
  assert.deepEqual(await query(client, hungry), ['SQLITE_NOMEM', 'the statement took too much memory and was ended']);
  assert.deepEqual(await query(client, 'SELECT 1'), [[1]]);
});

test('nothing that was acknowledged is lost when a process is killed', async () => {
  const { service, query } = databases.of('acknowledged');
  await query('CREATE TABLE t (a UNIQUE)');
  const acknowledged: number[] = [];
  const unknown: number[] = [];
  const kills = fuzzRounds(2);
  for (let round = 0; round < kills; round++) {
    const inserts = Array.from({ length: 200 }, async (_, index) => {
      const value = round * 200 + index;
      const answer = await query('INSERT INTO t VALUES (?)', [value]);
      if (Array.isArray(answer) && answer.length === 0) acknowledged.push(value);
      else {
        assert.deepEqual(answer, [
          'SQLITE_INTERRUPT',
          'the database process ended: the statement may or may not have been applied',
        ]);
        unknown.push(value);
      }
      if (index === 100) for (const pid of service.pids()) process.kill(pid, 'SIGKILL');
    });
    await Promise.all(inserts);
  }
  const stored = new Set(((await query('SELECT a FROM t')) as number[][]).map(([value]) => value));
  assert.deepEqual(
    acknowledged.filter((value) => !stored.has(value)),
    [],
  );
  assert.equal(acknowledged.length + unknown.length, 200 * kills);
  for (const value of stored) assert.ok(acknowledged.includes(value as number) || unknown.includes(value as number));
});

test('reads begin again when their process is killed', async () => {
  const { service, query } = databases.of('reads');
  await query('SELECT 1');
  const reads = Array.from({ length: 100 }, (_, index) =>
    query(index % 2 === 0 ? 'SELECT ?' : 'WITH x AS (SELECT ? AS a) SELECT a FROM x', [index]),
  );
  for (const pid of service.pids()) process.kill(pid, 'SIGKILL');
  assert.deepEqual(
    await Promise.all(reads),
    Array.from({ length: 100 }, (_, index) => [[index]]),
  );
});

test('a transaction has its time, and those that wait for it have theirs', async (t) => {
  const { client } = await startFor(t, { transactionMs: 300, waitMs: 100, waitingMax: 2 });
  await query(client, 'CREATE TABLE t (a)');
  const { t: transaction } = await ask(client, ops.begin, []);
  await ask(client, ops.query, ['INSERT INTO t VALUES (1)', []], at, transaction as number);
  const waiting = [1, 2, 3].map((value) => query(client, 'INSERT INTO t VALUES (?)', [value + 10]));
  assert.deepEqual(await Promise.all(waiting), [
    ['SQLITE_BUSY', 'database is locked: a transaction took longer than 100 ms'],
    ['SQLITE_BUSY', 'database is locked: a transaction took longer than 100 ms'],
    ['SQLITE_BUSY', 'more than 2 requests wait for a transaction of this database'],
  ]);
  for (;;) {
    const { e } = await ask(client, ops.query, ['SELECT 1', []], at, transaction as number);
    if (e === undefined) continue;
    assert.deepEqual(e, [
      'SQLITE_ABORT',
      'the transaction has ended: it took longer than DB_TRANSACTION_MS (300) and was rolled back',
    ]);
    break;
  }
  assert.deepEqual(await query(client, 'SELECT count(*) FROM t'), [[0]]);
});

test('a transaction is rolled back when its engine goes away, and belongs to that engine', async () => {
  const { client, service, at } = databases.of('left');
  await query(client, 'CREATE TABLE t (a)', [], at);
  const engine = createDatabaseClient({ socketPath: service.socketPath });
  const { t: transaction } = await ask(engine, ops.begin, [], at);
  await ask(engine, ops.query, ['INSERT INTO t VALUES (1)', []], at, transaction as number);
  const stranger = await ask(client, ops.query, ['SELECT 1', []], at, transaction as number);
  assert.deepEqual(stranger['e'], [
    'SQLITE_ABORT',
    'the transaction has ended: it is unknown here, such as after the database was restored: try again',
  ]);
  const write = query(client, 'INSERT INTO t VALUES (2)', [], at);
  engine.close();
  assert.deepEqual(await write, []);
  assert.deepEqual(await query(client, 'SELECT a FROM t', [], at), [[2]]);
});

test('every bound is named in the error that it makes', async (t) => {
  const limits = {
    statementBytesMax: 200,
    batchStatementsMax: 2,
    execBytesMax: 100,
    execStatementsMax: 2,
    resultBytesMax: 1000,
    valueBytesMax: 500,
    requestBytesMax: 5000,
    dumpBytesMax: 1000,
    databaseBytesMax: 40_960,
    parametersMax: 3,
  };
  const { client } = await startFor(t, limits);
  const long = `SELECT '${'x'.repeat(300)}'`;
  assert.match(String(await query(client, long)), /statement too long: 309 bytes, at most 200 are allowed/);
  const one = ['SELECT 1', []];
  assert.deepEqual((await ask(client, ops.batch, [one, one, one]))['e'], [
    'SQLITE_TOOBIG',
    'the batch exceeds 2 statements',
  ]);
  assert.match(String((await ask(client, ops.exec, [long]))['e']), /exceeds 100 bytes/);
  assert.match(String((await ask(client, ops.exec, ['SELECT 1;SELECT 2;SELECT 3']))['e']), /more than 2 statements/);
  const many = 'WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000) SELECT x FROM c';
  assert.deepEqual(await query(client, many), ['SQLITE_TOOBIG', 'the result exceeds DB_MAX_RESULT_BYTES (1000)']);
  assert.deepEqual(await query(client, 'SELECT randomblob(501)'), ['SQLITE_TOOBIG', 'string or blob too big']);
  assert.deepEqual(await query(client, 'SELECT ?', ['x'.repeat(501)]), ['SQLITE_TOOBIG', 'string or blob too big']);
  assert.deepEqual(await query(client, 'SELECT ?', ['x'.repeat(6000)]), [
    'SQLITE_TOOBIG',
    'the request exceeds 5000 bytes',
  ]);
  assert.match(String(await query(client, 'SELECT ?, ?, ?, ?', [1, 2, 3, 4])), /too many SQL variables/);
  await query(client, 'CREATE TABLE t (a)');
  assert.match(String((await ask(client, ops.dump, []))['e']), /exceeds 1000 bytes/);
  let answer: unknown;
  for (let row = 0; row < 200 && (answer === undefined || (answer as unknown[]).length === 0); row++)
    answer = await query(client, 'INSERT INTO t VALUES (randomblob(400))');
  assert.deepEqual(answer, ['SQLITE_FULL', 'database or disk is full']);
  const returned = await query(client, 'DELETE FROM t RETURNING randomblob(400)');
  assert.deepEqual(returned, ['SQLITE_TOOBIG', 'the result exceeds DB_MAX_RESULT_BYTES (1000)']);
  assert.notDeepEqual(await query(client, 'SELECT count(*) FROM t'), [[0]]);
});

test('engines on other machines need the token, and reach the same databases', async (t) => {
  const { client, service, at } = impatient.of('far');
  await query(client, 'CREATE TABLE t (a)', [], at);
  const port = service.port as number;
  const far = createDatabaseClient({ host: '127.0.0.1', port, token });
  t.after(() => far.close());
  assert.deepEqual(await query(far, "INSERT INTO t VALUES ('far') RETURNING a", [], at), [['far']]);
  const { t: transaction } = await ask(far, ops.begin, [], at);
  await ask(far, ops.query, ["INSERT INTO t VALUES ('tx')", []], at, transaction as number);
  await ask(far, ops.commit, [], at, transaction as number);
  assert.deepEqual(await query(client, 'SELECT a FROM t', [], at), [['far'], ['tx']]);
  assert.deepEqual(await query(far, endless, [], at), [
    'SQLITE_INTERRUPT',
    'the statement ran longer than 500 ms and was ended',
  ]);
  assert.deepEqual(await query(far, 'SELECT count(*) FROM t', [], at), [[2]]);
  for (const greeting of [{ token: 'wrong' }, {}, { token, shard: 'none' }, 'nonsense']) {
    const stranger = connect(port, '127.0.0.1');
    stranger.on('error', () => {});
    stranger.write(requestFrame(1, ops.hello, '', 0, JSON.stringify(greeting)));
    stranger.resume();
    await once(stranger, 'close');
  }
  const silent = connect(port, '127.0.0.1');
  silent.write(requestFrame(1, ops.route, 'shop/main', 0, '{}'));
  silent.resume();
  await once(silent, 'close');
});

test('a connection from outside that does not greet is cut, one that has greeted is not', async (t) => {
  const { client, service } = await startFor(t, { greetingMs: 100 }, { tcp: { host: '127.0.0.1', port: 0, token } });
  const port = service.port as number;
  const greeted = connect(port, '127.0.0.1');
  t.after(() => greeted.destroy());
  greeted.write(requestFrame(1, ops.hello, '', 0, JSON.stringify({ token })));
  await once(greeted, 'data');
  for (const first of ['', 'half of a fra']) {
    const silent = connect(port, '127.0.0.1');
    silent.on('error', () => {});
    silent.resume();
    if (first !== '') silent.write(first);
    await once(silent, 'close');
  }
  // After both were cut it is still there, and so are those of this machine.
  greeted.write(requestFrame(2, ops.route, 'shop/main', 0, '{}'));
  await once(greeted, 'data');
  assert.deepEqual(await query(client, 'SELECT 1'), [[1]]);
});

test(
  'engines on other machines speak TLS where there is a certificate',
  { skip: !existsSync('/usr/bin/openssl') },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'platform-test-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        keyFile,
        '-out',
        certFile,
        ...subject,
      ],
      { stdio: 'ignore' },
    );
    const [key, cert] = [readFileSync(keyFile, 'utf8'), readFileSync(certFile, 'utf8')];
    const { service } = await startFor(t, {}, { tcp: { host: '127.0.0.1', port: 0, token, tls: { key, cert } } });
    const far = createDatabaseClient({ host: '127.0.0.1', port: service.port as number, token, tls: { ca: cert } });
    t.after(() => far.close());
    assert.deepEqual(await query(far, 'SELECT ?', ['over TLS']), [['over TLS']]);
  },
);

test('bytes that are no requests end their connection and nothing else', async () => {
  const { service, query } = databases.of('bytes');
  const random = createSeededRandom();
  await query('CREATE TABLE t (a)');
  const before = service.pids();
  for (let round = 0; round < fuzzRounds(20); round++) {
    const socket = connect(service.socketPath);
    socket.on('error', () => {});
    socket.resume();
    if (random.below(2) === 0)
      socket.write(
        requestFrame(
          1,
          random.pick([ops.hello, ops.route, ops.verdict, ops.query, 99]),
          random.pick(['shop/main', '../x/y', 'a']),
          0,
          random.pick(['{}', '[]', 'null', '1', '{"shard":"0-1"}', '{']),
        ),
      );
    socket.end(Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256))));
    await once(socket, 'close');
  }
  assert.deepEqual(await query('SELECT count(*) FROM t'), [[0]]);
  assert.deepEqual(service.pids(), before);
});

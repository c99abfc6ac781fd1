// Two replicas of the sandbox service over one Postgres: what one has, the other answers for all the same.
// test/machines/replicas.test.ts has it in depth.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { addressOf } from '#sandbox/service/replicas.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { heldBy, openOther, startReplica, type Replica } from '#test/setup/sandbox-replica.ts';
import { eventually } from '#test/setup/whole-platform.ts';

let folder: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
let url: string;
let a: Replica;
let b: Replica;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-replicas-'));
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  url = await openSandboxRole(sql, database.url);
  a = await startReplica({ url, folder, name: 'a' });
  b = await startReplica({ url, folder, name: 'b' });
});
after(async () => {
  await Promise.all([a?.close(), b?.close()]);
  await sql?.close();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

test('a call for a sandbox that another replica has is answered by that one, and its errors are', async () => {
  assert.equal(await a.exec('one', 'echo of a > kept; cat kept'), 'of a\n');
  assert.equal(await b.exec('one', 'cat kept'), 'of a\n');
  assert.deepEqual([a.held(), b.held()], [1, 0]);
  const [status, body] = await b.call('/boxes/one/readFile', { body: '{"path":"none"}' });
  assert.deepEqual([status, (body as { error: { code: string } }).error.code], [404, 'file_not_found']);
  // The other way round.
  assert.equal(await b.exec('two', 'echo of b > kept; cat kept'), 'of b\n');
  assert.equal(await a.exec('two', 'cat kept'), 'of b\n');
  assert.deepEqual([a.held(), b.held()], [1, 1]);
});

test('a call goes on once: a replica that does not have the sandbox either says so', async () => {
  const [status, body] = await b.call('/boxes/one/exec', { headers: { 'sandbox-passed-on': '1' } });
  assert.deepEqual(
    [status, body],
    [
      421,
      {
        error: {
          code: 'sandbox_unavailable',
          message: `The sandbox is unavailable: another replica of the service has it (${a.owner})`,
        },
      },
    ],
  );
});

test('the sandbox of a replica that is gone is had as soon as its lease is over, by the call that waits', async (t) => {
  const gone = await openOther(t, (socket) => socket.destroy());
  await heldBy(sql, gone.owner, 'left');
  const answer = b.exec('left', 'echo taken over');
  await eventually('a second look', async () => gone.hits >= 2);
  await sql.all(`UPDATE sandbox.sandbox SET lease_until = now() - interval '1 ms' WHERE id = 'left'`);
  assert.equal(await answer, 'taken over\n');
});

test('one that has another token is said to', async (t) => {
  const other = await openOther(t, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}'));
  });
  await heldBy(sql, other.owner, 'token');
  assert.deepEqual(await b.exec('token', 'true'), {
    error: {
      code: 'sandbox_unavailable',
      message: `The sandbox is unavailable: another replica of the service has it (${other.owner}), which uses another SANDBOX_AUTH_TOKEN`,
    },
  });
});

test('the token goes to private addresses alone', () => {
  assert.deepEqual(addressOf('a http://10.0.0.5:4006'), { host: '10.0.0.5', port: 4006 });
  assert.deepEqual(addressOf('a http://[fd00::5]:4006'), { host: 'fd00::5', port: 4006 });
  for (const owner of ['a http://203.0.113.7:4006', 'a http://elsewhere.test:4006', 'a https://10.0.0.5', 'a:4006', ''])
    assert.equal(addressOf(owner), null, owner);
});

// Rows as the sandbox service keeps them: as its own role, and with another replica beside it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgres } from '#postgres/connection.ts';
import { openSandboxRole } from '#postgres/sandbox-role.ts';
import { createPostgresRows } from '#sandbox/service/rows-postgres.ts';
import type { SandboxRows } from '#sandbox/service/rows.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';
import { PER_PROJECT_MAX, testSandboxRows, TIMES } from './sandbox-rows.ts';

const [a, b] = ['http://10.0.0.1:80', 'http://10.0.0.2:80'];

async function open() {
  const database = await createTestDatabase();
  const owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  const url = await openSandboxRole(owner, database.url);
  const rowsOf = (name: string): SandboxRows =>
    createPostgresRows({
      sql: openPostgres({ url, name: 'test', connectionsMax: 1 }),
      owner: name,
      provider: 'local',
      perProjectMax: PER_PROJECT_MAX,
      leaseMs: 60_000,
      times: TIMES,
    });
  const [first, second] = [rowsOf(a), rowsOf(b)];
  return {
    url,
    owner,
    rows: first,
    second,
    age: async (ms: number) =>
      void (await owner.all(`UPDATE sandbox.sandbox SET last_active_at = now() - $1 * interval '1 millisecond'`, ms)),
    async close() {
      await Promise.all([first.close(), second.close(), owner.close()]);
      await database.close();
    },
  };
}

testSandboxRows('postgres', open);

test('postgres: what one replica has, another gets when it is given back or its lease is over', async () => {
  const { rows, second, owner, close } = await open();
  try {
    const place = { project: 'shop', resource: 'work', id: 'a' };
    const claim = await rows.claim(place);
    assert.equal(claim.is, 'ours');
    const { key } = (claim as Extract<typeof claim, { is: 'ours' }>).row;
    const held = await second.claim(place);
    assert.deepEqual({ ...held, leaseMs: 0 }, { is: 'held', owner: a, leaseMs: 0 });
    assert.ok((held as Extract<typeof held, { is: 'held' }>).leaseMs <= 60_000);
    assert.equal(await second.claimKey(key), null);
    assert.equal(await second.save(key, 'running', 0), false);
    await second.remove(key);
    await second.release(key);
    assert.deepEqual(await rows.renew([key]), [key]);

    await rows.release(key);
    assert.equal((await second.claim(place)).is, 'ours');
    assert.deepEqual({ ...(await rows.claim(place)), leaseMs: 0 }, { is: 'held', owner: b, leaseMs: 0 });

    await owner.all(`UPDATE sandbox.sandbox SET lease_until = now() - interval '1 second'`);
    assert.equal((await rows.claim(place)).is, 'ours');
    assert.deepEqual(await second.renew([key]), []);
  } finally {
    await close();
  }
});

test('postgres: an organization whose storage is full has the sandboxes it has, and gets no other', async () => {
  const { rows, owner, close } = await open();
  try {
    const claim = (project: string, id: string) => rows.claim({ project, resource: 'work', id });
    for (const name of ['acme', 'globex']) {
      await owner.all('INSERT INTO control.organization (id, name, slug) VALUES ($1, $1, $1)', name);
      const project = 'INSERT INTO control.project (id, organization_id, name) VALUES ($1, $1, $1)';
      await owner.all(project, name);
    }
    assert.equal((await claim('acme', 'old')).is, 'ours');
    await owner.all(`UPDATE control.organization SET storage_full = true WHERE id = 'acme'`);
    assert.deepEqual(await claim('acme', 'new'), { is: 'storage_full' });
    assert.equal((await claim('acme', 'old')).is, 'ours');
    assert.equal((await claim('globex', 'new')).is, 'ours');
  } finally {
    await close();
  }
});

test('postgres: what disks take is noted of all sandboxes, also those of other replicas, and of no unknown one', async () => {
  const { rows, second, owner, close } = await open();
  try {
    const keyOf = async (from: SandboxRows, id: string): Promise<string> =>
      ((await from.claim({ project: 'shop', resource: 'work', id })) as { row: { key: string } }).row.key;
    const [ours, theirs] = [await keyOf(rows, 'ours'), await keyOf(second, 'theirs')];
    await keyOf(rows, 'unseen');
    await rows.saveSizes(
      new Map([
        [ours, 4096],
        [theirs, 20_000_000_000],
        ['unknown', 1],
      ]),
    );
    await rows.saveSizes(new Map([[ours, 8192]]));
    assert.deepEqual(await owner.all('SELECT id, disk_bytes::float8 AS bytes FROM sandbox.sandbox ORDER BY id'), [
      { id: 'ours', bytes: 8192 },
      { id: 'theirs', bytes: 20_000_000_000 },
      { id: 'unseen', bytes: null },
    ]);
    await rows.saveSizes(new Map());
  } finally {
    await close();
  }
});

test('postgres: sandboxes of a project that was deleted are due, those of its successor are not', async () => {
  const { rows, owner, close } = await open();
  try {
    const made = async (id: string): Promise<string> =>
      ((await rows.claim({ project: 'shop', resource: 'work', id })) as { row: { key: string } }).row.key;
    await owner.all(`INSERT INTO control.organization (id, name, slug) VALUES ('o', 'o', 'o')`);
    await owner.all(`INSERT INTO control.project (id, organization_id, name) VALUES ('p', 'o', 'shop')`);
    const old = await made('old');
    assert.deepEqual(await rows.due(), []);
    await owner.all(`UPDATE control.project SET deleted_at = now()`);
    await owner.all(`INSERT INTO control.project (id, organization_id, name) VALUES ('q', 'o', 'shop')`);
    await made('new');
    assert.deepEqual(await rows.due(), [{ key: old, what: 'destroy' }]);
  } finally {
    await close();
  }
});

test('postgres: the role of the service reaches nothing but sandboxes and the deletion of projects', async () => {
  const { url, close } = await open();
  const sql = openPostgres({ url, name: 'test', connectionsMax: 1 });
  try {
    await sql.all('SELECT name, deleted_at FROM control.project');
    for (const statement of [
      'SELECT * FROM control.project',
      'SELECT * FROM control.variable',
      'SELECT * FROM control.token',
      'SELECT * FROM binding.state',
      'UPDATE control.project SET deleted_at = now()',
      'DELETE FROM control.project',
      'CREATE TABLE sandbox.more (id int)',
    ])
      await assert.rejects(sql.all(statement), /permission denied/, statement);
  } finally {
    await sql.close();
    await close();
  }
});

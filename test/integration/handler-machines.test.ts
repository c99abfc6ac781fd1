// The API and the broker find handlers in Postgres: those of machines that are up, and their own.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { openHandlerMachines } from '#postgres/handler-machines.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let owner: Postgres;
let engine: Postgres;
before(async () => {
  database = await createTestDatabase();
  owner = openPostgres({ url: database.url, name: 'test', connectionsMax: 1 });
  engine = openPostgres({ url: database.engineUrl, name: 'test', connectionsMax: 1 });
});
after(async () => {
  await owner.close();
  await engine.close();
  await database.close();
});
beforeEach(() => owner.all('TRUNCATE control.machine'));

async function machine(name: string, { state = 'up', parts = ['handler'], seconds = 0, origin = true } = {}) {
  await owner.all(
    `INSERT INTO control.machine (name, member, lock_key, state, private_origin, parts, version, key_ids,
      memory_bytes, memory_free_bytes, disk_bytes, disk_free_bytes, seen_at)
     VALUES ($1, 'b7-x', 7, $2, $3, $4::text[], '1', '{}', 1, 1, 1, 1, now() - $5::float8 * interval '1 second')`,
    name,
    state,
    origin ? `http://${name}:8081` : null,
    parts,
    seconds,
  );
}

/** As the broker reads them, without what it has kept. */
async function found(local: readonly string[], ownOrigin: string | null, sql: Postgres = engine): Promise<unknown> {
  return openHandlerMachines({ sql, local, ownOrigin, onTrouble: () => assert.fail('unavailable') }).find();
}

test('handlers of machines that are up are found, each once', async () => {
  const local = ['http://127.0.0.1:8081'];
  assert.deepEqual(await found(local, null), local);
  await machine('m1');
  await machine('m2');
  await machine('m3', { state: 'draining' });
  await machine('m4', { parts: ['api'] });
  await machine('m5', { seconds: 11 });
  await machine('m6', { seconds: 6 });
  await machine('m7', { origin: false });
  assert.deepEqual(await found(local, 'http://m1:8081'), [...local, 'http://m2:8081']);
  // An API apart from handlers.
  assert.deepEqual(await found([], null), ['http://m1:8081', 'http://m2:8081']);
  // Its own machine is drained.
  assert.deepEqual(await found(local, 'http://m3:8081'), ['http://m1:8081', 'http://m2:8081']);
});

test('while Postgres is away, the last ones are used', async () => {
  await machine('m2');
  let now = 0;
  const problems: unknown[] = [];
  const broken = { isBroken: false };
  const sql: Pick<Postgres, 'all'> = {
    all: (text) => (broken.isBroken ? Promise.reject(new Error('away')) : engine.all(text)),
  };
  const handlers = openHandlerMachines({
    sql,
    local: [],
    ownOrigin: null,
    onTrouble: (error) => problems.push(error),
    now: () => now,
  });
  assert.deepEqual(await handlers.find(), ['http://m2:8081']);
  broken.isBroken = true;
  await machine('m3');
  assert.deepEqual(await handlers.find(), ['http://m2:8081']);
  now = 1001;
  assert.deepEqual(await handlers.find(), ['http://m2:8081']);
  assert.equal(problems.length, 1);
  broken.isBroken = false;
  now = 2002;
  assert.deepEqual(await handlers.find(), ['http://m2:8081', 'http://m3:8081']);
});

test('the role of engines reads addresses, and cannot announce a machine', async () => {
  await assert.rejects(engine.all('SELECT * FROM control.machine'), { code: '42501' });
  await assert.rejects(engine.all(`UPDATE binding.handler_machine SET private_origin = 'http://x'`), { code: '42501' });
  await assert.rejects(engine.all(`DELETE FROM binding.handler_machine`), { code: '42501' });
});

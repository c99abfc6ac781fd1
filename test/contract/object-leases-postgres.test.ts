// Leases of durable objects over Postgres: one holder each, whose numbers only grow, also after rows were deleted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isFailure } from '#core/failure.ts';
import { openPostgres, type Postgres } from '#postgres/connection.ts';
import { later, momentNow } from '#runtime/databases/protocol/lease-clock.ts';
import { createObjectLeases } from '#runtime/stores/object-leases-postgres.ts';
import { createTestDatabase } from '#test/setup/postgres.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let sql: Postgres;
before(async () => {
  database = await createTestDatabase();
  sql = openPostgres({ url: database.url, name: 'test', connectionsMax: 2, schema: 'binding' });
});
after(async () => {
  await sql.close();
  await database.close();
});

const place = { namespace: 'shop~~~objects', resource: 'a' };
const rows = async (): Promise<unknown[]> => sql.all('SELECT id FROM object_lease ORDER BY id');
const open = (link: string, keptMs: number, now = momentNow) =>
  createObjectLeases({ sql, link, keptMs, now, log: (message) => assert.fail(message) });

test('a row that nothing holds is deleted, and the next holder has a larger number', async () => {
  // Of an engine whose clock was ahead.
  const future = 4_000_000_000_000_000;
  await sql.all(`INSERT INTO object_lease VALUES ('shop~~~objects', 'a', '', ${future})`);
  await sql.all(`INSERT INTO object_engine VALUES ('gone', '/gone', 0)`);
  // Rows are old enough whatever their time.
  const leases = open('/one', -3_000_000_000_000);
  try {
    await leases.sweep();
    assert.deepEqual(await rows(), [{ id: 'a' }]);
    await leases.sweep();
    assert.deepEqual(await rows(), []);
    assert.deepEqual(await sql.all('SELECT holder FROM object_engine'), []);
    assert.equal(await leases.acquire(place), future + 1);
  } finally {
    leases.close();
  }
});

test('a row that an engine holds, or that was taken a moment ago, stays', async () => {
  const [holder, other] = [open('/one', -1_000_000_000), open('/two', 3_600_000)];
  try {
    const held = { ...place, resource: 'b' };
    const fence = await holder.acquire(held);
    await holder.sweep();
    await holder.sweep();
    assert.ok((await rows()).some((row) => (row as { id: string }).id === 'b'));
    assert.deepEqual(await other.others(place.namespace), ['/one']);
    await assert.rejects(other.acquire(held), (error) => isFailure(error, 'object_held'));
    holder.release(held, fence);
    await other.sweep();
    await other.sweep();
    assert.ok((await rows()).some((row) => (row as { id: string }).id === 'b'));
  } finally {
    holder.close();
    other.close();
  }
});

test('an object that is taken after a pause has its time from then on', async () => {
  let now = momentNow();
  const leases = open('/one', 3_600_000, () => now);
  const paused = { ...place, resource: 'c' };
  try {
    leases.release(paused, await leases.acquire(paused));
    // Without objects nothing renews it.
    now = later(now, 700);
    await leases.acquire(paused);
    now = later(now, 500);
    assert.equal(leases.isValid(), true);
  } finally {
    leases.close();
  }
});

test('objects that others could take before a late renewal are lost', async () => {
  let now = momentNow();
  const leases = open('/slept', 3_600_000, () => now);
  const [before, after] = [
    { ...place, resource: 'd' },
    { ...place, resource: 'e' },
  ];
  try {
    await leases.acquire(before);
    now = { monotonic: now.monotonic + 1, day: now.day + 60_000 };
    await sql.all(`UPDATE object_engine SET seen_at = seen_at - 60000 WHERE link = '/slept'`);
    await leases.acquire(after);
    assert.equal(leases.isValid(), false);
    leases.lapsed();
    await leases.acquire(after);
    assert.equal(leases.isValid(), true);
  } finally {
    leases.close();
  }
});

test('a renewal that is late for its engine, but not for Postgres, keeps the objects', async () => {
  let now = momentNow();
  const leases = open('/busy', 3_600_000, () => now);
  try {
    await leases.acquire({ ...place, resource: 'f' });
    now = later(now, 1100);
    assert.equal(leases.isValid(), false);
    await leases.acquire({ ...place, resource: 'g' });
    assert.equal(leases.isValid(), true);
  } finally {
    leases.close();
  }
});
